#include "cli/commands/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "cli/commands/row_cases.h"
#include "costmodel/step/estimate.h"
#include "validator/measure/runs/learn_from_runs.h"

namespace hexaplan::cli {

using costmodel::Scenario;
using presets::TruthRow;
using validator::PredictedCase;

namespace {

/// Configurations with a measured step, as few shots learn from them.
class Configurations {
 public:
  /// Only the first run of a configuration is differentiated: the others have equal inputs.
  void add(const validator::MeasuredCase& measured, const Scenario& scenario, double predicted,
           RowCases& rows) {
    if (!measured.step) return;
    const auto [known, is_new] = places_.try_emplace(measured.family, cases_.size());
    if (is_new) {
      validator::OwnRun run{measured, scenario};
      run.measured.memory.clear();
      cases_.push_back({measured.source, scenario.cluster.gpu.name + " " + scenario.framework.name,
                        validator::evidence_of(run, rows.curves(scenario.cluster), {}).front()});
      cases_.back().run.residual = 0;
      runs_.push_back(0);
    }
    const std::size_t at = known->second;
    cases_[at].run.residual += std::log(measured.step->value() / predicted);
    ++runs_[at];
  }
  /// Each with the mean over its runs.
  [[nodiscard]] std::vector<validator::FewShotCase> take() {
    for (std::size_t i = 0; i < cases_.size(); ++i) cases_[i].run.residual /= runs_[i];
    return std::move(cases_);
  }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<validator::FewShotCase> cases_;
  std::vector<double> runs_;
};

PredictedCase predict(const TruthRow& row, RowCases& rows, Configurations* configurations) {
  PredictedCase result{rows.measured(row), validator::NotPredicted{}};
  const presets::RowScenario interpreted = rows.scenario_of(row, result.measured);
  if (const auto* none = std::get_if<presets::NoScenario>(&interpreted)) {
    result.prediction = validator::NotPredicted{none->reason};
    return result;
  }
  const auto& scenario = std::get<Scenario>(interpreted);
  costmodel::Estimate estimate = costmodel::estimate_step(scenario, rows.curves(scenario.cluster));
  if (estimate.stages.empty()) {
    const auto& rejected = std::get<costmodel::Rejected>(estimate.verdict);
    result.prediction = validator::NotPredicted{fmt::format("{}: {}", rejected.rule, rejected.reason)};
  } else {
    if (configurations != nullptr)
      configurations->add(result.measured, scenario, estimate.time.total().value(), rows);
    result.prediction = std::move(estimate);
  }
  return result;
}

}  // namespace

bool scores_anything(const AccuracyResult& result) {
  return std::ranges::any_of(result.cases, [](const auto& scored) { return scored.reason.empty(); });
}

AccuracyResult run_accuracy(const AccuracyOptions& options) {
  RowCases rows;
  std::vector<PredictedCase> cases;
  Configurations configurations;
  for (const std::string& path : options.tables) {
    for (const TruthRow& row : read_rows(path))
      cases.push_back(predict(row, rows, options.few_shot ? &configurations : nullptr));
  }
  AccuracyResult result{.report = validator::score(cases)};
  for (const PredictedCase& c : cases) result.cases.push_back(validator::compare(c));
  if (options.few_shot) {
    result.configurations = configurations.take();
    result.few_shot = validator::score_few_shots(result.configurations);
  }
  return result;
}

}  // namespace hexaplan::cli
