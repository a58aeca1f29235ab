#include "validator/measure/compare/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/stage_times.h"
#include "validator/executor/communicator/traffic.h"

namespace hexaplan::validator {

using costmodel::MemoryBreakdown;
using costmodel::Scenario;
using costmodel::Seconds;
using costmodel::StageTimes;

namespace {

Seconds of(const PhaseTimes& times, std::initializer_list<Phase> phases) {
  Seconds sum;
  for (const Phase phase : phases) sum += times[static_cast<std::size_t>(phase)];
  return sum;
}

/// Messages inside layers belong to the pass that they are in, unless nothing was sent.
Seconds of(const costmodel::PassCost& pass, bool solo) {
  return solo ? pass.compute() : pass.total();
}

/// The phases that a step computes in, per step. Reductions, gathers and the pipeline's messages are apart.
Seconds computing(const RankReport& rank, std::int64_t steps) {
  return of(rank.phases,
            {Phase::Forward, Phase::Recompute, Phase::Backward, Phase::Clipping, Phase::Optimizer}) /
         static_cast<double>(steps);
}

/// What is recomputed runs within backward, right before it is needed, and is timed there.
void add_phases(const ValidationQuestion& question, const StageTimes& predicted, const RankReport& rank,
                std::int64_t steps, std::vector<ComparedTerm>& out) {
  struct Row {
    std::string_view name;
    Seconds predicted, measured;
  };
  const PhaseTimes& times = rank.phases;
  const Row rows[] = {
      {"forward", of(predicted.forward, question.solo), of(times, {Phase::Forward})},
      {"backward", of(predicted.recompute, question.solo) + of(predicted.backward, question.solo),
       of(times, {Phase::Recompute, Phase::Backward})},
      {"clipping and optimizer", predicted.optimizer, of(times, {Phase::Clipping, Phase::Optimizer})},
  };
  for (const Row& row : rows) {
    if (row.predicted <= Seconds{} && row.measured <= Seconds{}) continue;
    out.push_back({TermGroup::Phase, std::string{row.name}, row.predicted.value(),
                   row.measured.value() / static_cast<double>(steps)});
  }
}

/// What the device waits for the host's launches is the rest of the time that it computes in. Where messages
/// are sent it waits for them as well, so that the rest says nothing.
double measured_waiting(const ValidationQuestion& question, const RankReport& rank, std::int64_t steps) {
  if (!question.solo && question.scenario.layout.world_size() > 1) return 0;
  Seconds busy;
  for (const ComputeTime& kind : rank.compute) busy += kind.time;
  const Seconds rest = computing(rank, steps) - busy / static_cast<double>(rank.timed_steps);
  return std::max(rest.value(), 0.0);
}

/// With the phases' recomputation: kinds and phases both add up to what the stage computes.
void add_kinds(const ValidationQuestion& question, const StageTimes& predicted, const RankReport& rank,
               std::int64_t steps, std::vector<ComparedTerm>& out) {
  if (rank.timed_steps == 0) return;
  const auto sum = [&](std::initializer_list<ComputeKind> kinds) {
    Seconds time;
    for (const ComputeKind kind : kinds) time += rank.compute[static_cast<std::size_t>(kind)].time;
    return time.value() / static_cast<double>(rank.timed_steps);
  };
  const auto all = [&](Seconds costmodel::PassCost::*part) {
    return (predicted.forward.*part + predicted.recompute.*part + predicted.backward.*part).value();
  };
  using K = ComputeKind;
  const ComparedTerm rows[] = {
      {TermGroup::Kind, "matrix products", all(&costmodel::PassCost::gemm), sum({K::Gemm, K::GroupedGemm})},
      {TermGroup::Kind, "attention", all(&costmodel::PassCost::attention), sum({K::Attention})},
      {TermGroup::Kind, "memory-bound kernels", all(&costmodel::PassCost::memory_bound),
       sum({K::Norm, K::Rope, K::Activation, K::Embedding, K::Loss, K::Routing, K::Elementwise, K::Copy})},
      {TermGroup::Kind, "optimizer", predicted.optimizer.value(), sum({K::Optimizer, K::GradientNorm})},
      {TermGroup::Kind, "waiting for launches", all(&costmodel::PassCost::launch),
       measured_waiting(question, rank, steps)},
  };
  for (const ComparedTerm& row : rows) {
    if (row.predicted > 0 || row.measured > 0) out.push_back(row);
  }
}

void add_communication(const ValidationQuestion& question, const RankReport& rank, std::int64_t steps,
                       std::vector<ComparedTerm>& out) {
  if (question.solo) return;  // nothing was sent
  for (const costmodel::CommunicationTime& row :
       costmodel::communication_times(question.scenario, *question.calibration, rank.stage)) {
    Seconds measured;
    for (const TrafficReport& sent : rank.traffic) {
      if (sent.kind == row.kind && sent.group == row.group) measured += sent.count.time;
    }
    out.push_back({TermGroup::Communication, fmt::format("{}, {}", name_of(row.kind), name_of(row.group)),
                   row.time.value(), measured.value() / static_cast<double>(steps)});
  }
}

void add_memory(const Scenario& scenario, const RankReport& rank, std::vector<ComparedTerm>& out) {
  const MemoryBreakdown predicted = predicted_memory(scenario, rank.stage);
  for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds) {
    const double expected = predicted.of(row.kind).value();
    const auto bytes = static_cast<double>(rank.memory.peak_by_kind[static_cast<std::size_t>(row.kind)]);
    if (expected > 0 || bytes > 0) out.push_back({TermGroup::Memory, std::string{row.name}, expected, bytes});
  }
}

}  // namespace

MemoryBreakdown predicted_memory(const Scenario& scenario, int stage) {
  MemoryBreakdown kinds =
      costmodel::estimate_step(scenario, {}).stages.at(static_cast<std::size_t>(stage)).at_peak;
  // The executor's own tensors are counted; what lies outside its allocator is not.
  if (scenario.framework.explicit_step) kinds.communication = kinds.overhead = {};
  return kinds;
}

std::int64_t counted_steps(const std::vector<StepReport>& steps) {
  return std::count_if(steps.begin(), steps.end(), [](const StepReport& step) { return !step.warm_up; });
}

std::vector<ComparedTerm> compared_terms(const ValidationQuestion& question, const RankReport& rank,
                                         std::int64_t steps) {
  std::vector<ComparedTerm> out;
  if (question.calibration) {
    const StageTimes predicted = costmodel::stage_times(question.scenario, *question.calibration, rank.stage);
    add_phases(question, predicted, rank, steps, out);
    add_kinds(question, predicted, rank, steps, out);
    add_communication(question, rank, steps, out);
  }
  add_memory(question.scenario, rank, out);
  return out;
}

}  // namespace hexaplan::validator
