// Published runs that used a technique.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <variant>

#include "cli/commands/row_cases.h"
#include "costmodel/step/estimate.h"
#include "tests/cli/techniques/techniques.h"
#include "validator/measure/accuracy/score.h"

namespace hexaplan::tests {
namespace {

struct KnownRun {
  costmodel::Scenario scenario;
  std::optional<double> step;  // |predicted / measured − 1|
  std::vector<double> peaks;
};

std::optional<KnownRun> known_run(const presets::TruthRow& row, cli::RowCases& rows) {
  const validator::MeasuredCase measured = rows.measured(row);
  presets::RowScenario found = rows.scenario_of(row, measured);
  auto* scenario = std::get_if<costmodel::Scenario>(&found);
  if (scenario == nullptr) return std::nullopt;
  costmodel::Estimate estimate = costmodel::estimate_step(*scenario, rows.curves(scenario->cluster));
  if (estimate.stages.empty()) return std::nullopt;
  const auto compared = validator::compare({measured, std::move(estimate)});
  KnownRun run{.scenario = std::move(*scenario), .step = {}, .peaks = {}};
  if (compared.time && !compared.disturbed) run.step = std::abs(compared.time->error());
  for (const validator::ComparedMemory& memory : compared.memory) run.peaks.push_back(std::abs(memory.error));
  return run;
}

std::vector<KnownRun> read_all() {
  namespace fs = std::filesystem;
  std::vector<fs::path> tables;
  for (const auto& entry : fs::directory_iterator{fs::path{HEXAPLAN_SOURCE_DIR} / "tests/golden/rows"})
    tables.push_back(entry.path());
  std::ranges::sort(tables);
  cli::RowCases rows;
  std::vector<KnownRun> runs;
  for (const fs::path& table : tables) {
    for (const presets::TruthRow& row : cli::read_rows(table.string())) {
      if (auto run = known_run(row, rows)) runs.push_back(std::move(*run));
    }
  }
  return runs;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

PublishedErrors published_with(const Technique& technique) {
  static const std::vector<KnownRun> runs = read_all();
  std::vector<double> steps, peaks;
  for (const KnownRun& run : runs) {
    if (!technique.used_by(run.scenario)) continue;
    if (run.step) steps.push_back(*run.step);
    peaks.insert(peaks.end(), run.peaks.begin(), run.peaks.end());
  }
  return {steps.size(), peaks.size(), median(steps), median(peaks)};
}

}  // namespace hexaplan::tests
