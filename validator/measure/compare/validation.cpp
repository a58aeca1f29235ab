#include "validator/measure/compare/validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/stage_times.h"
#include "validator/measure/compare/terms.h"

namespace hexaplan::validator {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::Scenario;
using costmodel::Seconds;

std::string_view name_of(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"measured", "out of memory", "failed", "not run"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string_view name_of(ScenarioUse use) {
  constexpr std::array<std::string_view, 3> kNames = {"", "fitted", "held out"};
  return kNames[static_cast<std::size_t>(use)];
}

namespace {

/// A rank's own steps, in the flags of the job's.
Seconds median_step(const RankReport& rank, std::vector<StepReport> steps) {
  for (std::size_t i = 0; i < steps.size() && i < rank.step_times.size(); ++i)
    steps[i].time = rank.step_times[i];
  return median_step_time(steps);
}

/// Of a step that imitates messages, in case their times are mismeasured beside each other.
constexpr double kLeastComputed = 0.1;

struct MeasuredRank {
  const RankReport* report = nullptr;
  Seconds step;  // median
};

/// What making up others' messages takes per step: compute waits for it, the whole job does not know it.
Seconds imitation_of(const RankReport& rank) {
  if (rank.timed_steps == 0) return {};
  return rank.compute[static_cast<std::size_t>(ComputeKind::Messages)].time /
         static_cast<double>(rank.timed_steps);
}

/// `interval`, of a figure predicted as `centre`, for another one that is predicted as `value`.
costmodel::Interval moved(const costmodel::Interval& interval, double centre, double value) {
  if (centre <= 0) return {value, value};
  return {interval.low / centre * value, interval.high / centre * value};
}

/// The step's own tensors stay below a limit on them; else as the estimate says of the whole device.
bool predicts_to_fit(const ValidationQuestion& question, const Estimate& estimate) {
  if (question.memory_limit <= Bytes{}) return std::holds_alternative<costmodel::Fits>(estimate.verdict);
  for (int stage = 0; stage < question.scenario.layout.pp; ++stage) {
    if (predicted_memory(question.scenario, stage).total() > question.memory_limit) return false;
  }
  return true;
}

ValidatedScenario begin(const ValidationQuestion& question, const Estimate& estimate) {
  ValidatedScenario out{.name = question.name, .title = question.title, .use = question.use};
  out.solo = question.solo;
  out.gpus = question.scenario.layout.world_size();
  out.predicted_to_fit = predicts_to_fit(question, estimate);
  if (question.other) {
    const Estimate other = costmodel::estimate_step(question.other->scenario, question.other->calibration);
    out.other = OtherPrediction{question.other->name, other.time.total(), other.peak().device};
  }
  return out;
}

Estimate estimate_of(const ValidationQuestion& question) {
  return costmodel::estimate_step(question.scenario, question.calibration.value_or(costmodel::Calibration{}));
}

/// The step of the job: as it was run, or as one rank of it says.
void compare_step(const ValidationQuestion& question, const Estimate& estimate, const MeasuredRank& slowest,
                  Seconds step, ValidatedScenario& out) {
  const Seconds predicted = estimate.time.total();
  if (question.solo) {
    // The host keeps a rank that runs alone waiting as it does all of them.
    const Seconds expected =
        costmodel::stage_times(question.scenario, *question.calibration, slowest.report->stage).compute() +
        estimate.time.host;
    out.measured_compute =
        larger(slowest.step - imitation_of(*slowest.report), slowest.step * kLeastComputed);
    const double ratio = out.measured_compute / expected;
    step = costmodel::with_compute_scaled(estimate.time, ratio).total();
    out.modelled_messages = step - out.measured_compute;
  }
  out.step = ComparedTotal{predicted.value(), step.value(), estimate.step_seconds};
  const double peak = question.scenario.cluster.gpu.peak_of(question.scenario.recipe.precision).value();
  out.mfu = estimate.model_flops_per_step.value() / step.value() / static_cast<double>(out.gpus) / peak;
}

void compare_memory(const Estimate& estimate, const Scenario& scenario, const RankReport& fullest,
                    ValidatedScenario& out) {
  const double predicted = predicted_memory(scenario, fullest.stage).total().value();
  out.memory = ComparedTotal{predicted, static_cast<double>(fullest.memory.peak_bytes),
                             moved(estimate.memory_bytes, estimate.peak().device.value(), predicted)};
}

std::vector<MeasuredRank> ranks_of(const std::vector<ExecutionReport>& runs) {
  std::vector<MeasuredRank> ranks;
  for (const ExecutionReport& run : runs) {
    for (const RankReport& rank : run.ranks) ranks.push_back({&rank, median_step(rank, run.steps)});
  }
  return ranks;
}

Seconds computing(const RankReport& rank) {
  if (rank.timed_steps == 0) return {};
  Seconds sum;
  for (std::size_t kind = 0; kind < rank.compute.size(); ++kind)
    if (kind != static_cast<std::size_t>(ComputeKind::Messages)) sum += rank.compute[kind].time;
  return sum / static_cast<double>(rank.timed_steps);
}

std::vector<RankSummary> summaries(const std::vector<MeasuredRank>& ranks) {
  std::vector<RankSummary> out;
  out.reserve(ranks.size());
  for (const auto& [report, step] : ranks) {
    out.push_back({.rank = report->rank,
                   .stage = report->stage,
                   .host = report->host,
                   .device = report->device,
                   .step = step,
                   .computing = computing(*report),
                   .peak_bytes = report->memory.peak_bytes});
  }
  return out;
}

}  // namespace

ValidatedScenario compare_runs(const ValidationQuestion& question, const std::vector<ExecutionReport>& runs) {
  const Estimate estimate = estimate_of(question);
  ValidatedScenario out = begin(question, estimate);
  out.outcome = Outcome::Measured;
  const std::vector<MeasuredRank> ranks = ranks_of(runs);
  const auto slowest = std::max_element(ranks.begin(), ranks.end(),
                                        [](const auto& a, const auto& b) { return a.step < b.step; });
  const auto fullest = std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.report->memory.peak_bytes < b.report->memory.peak_bytes;
  });
  const std::vector<StepReport>& steps = runs.front().steps;
  out.steps = std::count_if(steps.begin(), steps.end(),
                            [](const StepReport& s) { return !s.warm_up && !s.profiled; });
  out.facts = slowest->report->facts;
  out.all_ranks = summaries(ranks);
  out.measured_step = question.solo ? slowest->step : median_step_time(steps);
  if (question.calibration) compare_step(question, estimate, *slowest, out.measured_step, out);
  compare_memory(estimate, question.scenario, *fullest->report, out);
  const std::int64_t counted = counted_steps(steps);
  out.ranks.push_back(
      {slowest->report->rank, slowest->report->stage, compared_terms(question, *slowest->report, counted)});
  if (fullest->report->memory.peak_bytes > slowest->report->memory.peak_bytes) {
    out.ranks.push_back(
        {fullest->report->rank, fullest->report->stage, compared_terms(question, *fullest->report, counted)});
  }
  return out;
}

ValidatedScenario without_measurement(const ValidationQuestion& question, Outcome outcome,
                                      std::string reason) {
  ValidatedScenario out = begin(question, estimate_of(question));
  out.outcome = outcome;
  out.reason = std::move(reason);
  return out;
}

namespace {

void count(const ComparedTotal& total, ErrorCounts& counts) {
  const double error = total.error();
  ++counts.scenarios;
  counts.mean += std::abs(error);
  counts.bias += error;
  counts.worst = std::max(counts.worst, std::abs(error));
  counts.inside += total.inside() ? 1 : 0;
}

void average(ErrorCounts& counts) {
  if (counts.scenarios == 0) return;
  for (double* sum : {&counts.mean, &counts.bias, &counts.inside})
    *sum /= static_cast<double>(counts.scenarios);
}

}  // namespace

ValidationSummary summarise(const std::vector<ValidatedScenario>& scenarios, ScenarioUse use) {
  ValidationSummary summary;
  for (const ValidatedScenario& scenario : scenarios) {
    if (use != ScenarioUse::Unknown && scenario.use != use) continue;
    if (scenario.step) count(*scenario.step, summary.step);
    if (scenario.memory) count(*scenario.memory, summary.memory);
    if (scenario.outcome != Outcome::Measured && scenario.outcome != Outcome::OutOfMemory) continue;
    ++summary.fits_asked;
    summary.fits_right += scenario.predicted_to_fit == (scenario.outcome == Outcome::Measured) ? 1 : 0;
  }
  average(summary.step);
  average(summary.memory);
  return summary;
}

std::vector<int> ranks_worth_running(const Scenario& scenario) {
  const std::vector<costmodel::StagePlan> plan = costmodel::plan_stages(scenario);
  const auto stages = static_cast<std::int64_t>(plan.size());
  std::vector<std::int64_t> chosen = {0};
  if (stages > 2) chosen.push_back(stages / 2);
  if (stages > 1) chosen.push_back(stages - 1);
  const std::vector<std::int64_t> members =
      costmodel::members_of(scenario.layout, costmodel::Group::Pipeline, 0);
  std::vector<int> ranks;
  ranks.reserve(chosen.size());
  for (const std::int64_t stage : chosen)
    ranks.push_back(static_cast<int>(members.at(static_cast<std::size_t>(stage))));
  return ranks;
}

}  // namespace hexaplan::validator
