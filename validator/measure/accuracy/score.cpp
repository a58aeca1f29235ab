#include "validator/measure/accuracy/score.h"

#include <map>
#include <utility>

namespace hexaplan::validator {

using costmodel::Estimate;

namespace {

/// Everything that is compared in one set of cases, before it is summed up.
struct Tally {
  std::vector<Residual> time;
  std::vector<TimedRun> timed_runs, disturbed;
  std::size_t time_skipped = 0;
  std::array<std::vector<Residual>, kMemoryKinds> memory;
  std::array<std::size_t, kMemoryKinds> memory_skipped{};
  std::vector<std::pair<bool, bool>> outcomes;
  std::vector<StatedChance> chances;
  std::size_t outcomes_skipped = 0;
  std::map<std::pair<std::string, std::string>, std::vector<RankedRun>> groups;  // by source and group

  void add(const MeasuredCase& measured, const Estimate& predicted) {
    if (measured.step) add_time(measured, predicted);
    if (measured.disturbed_step) disturbed.push_back(timed(measured, *measured.disturbed_step, predicted));
    for (const MeasuredMemory& m : measured.memory) {
      memory[static_cast<std::size_t>(m.kind)].push_back(
          {measured.source, predicted_memory(predicted, m.kind, m.scope).value(), m.bytes.value(),
           measured.weight});
    }
    if (measured.ran_out_of_memory) {
      outcomes.emplace_back(predicts_out_of_memory(predicted), *measured.ran_out_of_memory);
      chances.push_back({predicted.out_of_memory_probability, *measured.ran_out_of_memory});
    }
  }

  void skip(const MeasuredCase& measured) {
    if (measured.step) ++time_skipped;
    for (const MeasuredMemory& m : measured.memory) ++memory_skipped[static_cast<std::size_t>(m.kind)];
    if (measured.ran_out_of_memory) ++outcomes_skipped;
  }

  void take(const PredictedCase& c) {
    if (const auto* predicted = std::get_if<Estimate>(&c.prediction)) {
      add(c.measured, *predicted);
    } else {
      skip(c.measured);
    }
  }

  [[nodiscard]] Scores sum_up() const {
    Scores scores{.time = summarise(time, time_skipped),
                  .families = summarise_families(timed_runs),
                  .out_of_memory = summarise_out_of_memory(outcomes, outcomes_skipped),
                  .chance_of_running_out = summarise_chances(chances)};
    std::vector<TimedRun> every_run = timed_runs;
    every_run.insert(every_run.end(), disturbed.begin(), disturbed.end());
    scores.with_disturbed = summarise_families(every_run);
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
      scores.memory[kind] = summarise(memory[kind], memory_skipped[kind]);
    }
    std::vector<std::vector<RankedRun>> list;
    for (const auto& [key, runs] : groups) list.push_back(runs);
    scores.ranking = summarise_ranking(list);
    return scores;
  }

 private:
  static TimedRun timed(const MeasuredCase& measured, costmodel::Seconds step, const Estimate& estimate) {
    return {.id = measured.id,
            .source = measured.source,
            .family = measured.family,
            .predicted = estimate.time.total().value(),
            .measured = step.value(),
            .low = estimate.step_seconds.low,
            .high = estimate.step_seconds.high};
  }

  void add_time(const MeasuredCase& measured, const Estimate& estimate) {
    const double predicted = estimate.time.total().value(), seconds = measured.step->value();
    time.push_back({measured.source, predicted, seconds, measured.weight});
    timed_runs.push_back(timed(measured, *measured.step, estimate));
    if (measured.rank_group.empty()) return;
    groups[{measured.source, measured.rank_group}].push_back(
        {.predicted = predicted, .measured = seconds, .fits = !predicts_out_of_memory(estimate)});
  }
};

}  // namespace

ComparedCase compare(const PredictedCase& c) {
  const MeasuredCase& measured = c.measured;
  ComparedCase compared{.id = measured.id, .source = measured.source, .family = measured.family};
  compared.measured_out_of_memory = measured.ran_out_of_memory;
  if (const auto* missing = std::get_if<NotPredicted>(&c.prediction)) {
    compared.reason = missing->reason;
    return compared;
  }
  const auto& predicted = std::get<Estimate>(c.prediction);
  compared.disturbed = measured.disturbed_step.has_value();
  if (const auto step = measured.step ? measured.step : measured.disturbed_step) {
    compared.time = Residual{measured.source, predicted.time.total().value(), step->value(), measured.weight};
    compared.by_cause = predicted.time;
    compared.low = predicted.step_seconds.low;
    compared.high = predicted.step_seconds.high;
  }
  for (const MeasuredMemory& m : measured.memory) {
    const Residual r{measured.source, predicted_memory(predicted, m.kind, m.scope).value(), m.bytes.value()};
    compared.memory.push_back({m.kind, r.predicted, r.measured, r.error()});
  }
  if (measured.ran_out_of_memory) {
    compared.predicted_out_of_memory = predicts_out_of_memory(predicted);
    compared.chance_of_running_out = predicted.out_of_memory_probability;
    compared.device_bytes = predicted_memory(predicted, MemoryKind::Device, MemoryScope::WorstRank).value();
    compared.capacity_bytes = predicted.capacity.value();
  }
  return compared;
}

AccuracyReport score(const std::vector<PredictedCase>& cases) {
  Tally all;
  std::map<std::string, Tally> by_source;
  for (const PredictedCase& c : cases) {
    if (!c.measured.scoreable()) continue;
    all.take(c);
    by_source[c.measured.source].take(c);
  }
  AccuracyReport report{.all = all.sum_up()};
  for (const auto& [source, tally] : by_source) report.sources.push_back({source, tally.sum_up()});
  return report;
}

}  // namespace hexaplan::validator
