#include "validator/measure/compare/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "costmodel/communication/bus_share.h"
#include "costmodel/memory/memory_kinds.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/step/estimate.h"
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

/// What hides behind the passes is in none of these.
struct Exposed {
  Seconds data_parallel, pipeline;
};
Exposed predicted_exposed(const ValidationQuestion& question) {
  if (question.solo) return {};  // nothing was sent
  const costmodel::StepTime time = costmodel::estimate_step(question.scenario, *question.calibration).time;
  return {time.data_parallel, time.bubble + time.pipeline_p2p};
}

/// What is recomputed runs within backward, right before it is needed, and is timed there.
void add_phases(const ValidationQuestion& question, const StageTimes& predicted, const RankReport& rank,
                std::int64_t steps, std::vector<ComparedTerm>& out) {
  struct Row {
    std::string_view name;
    Seconds predicted, measured;
  };
  const PhaseTimes& times = rank.phases;
  const Exposed exposed = predicted_exposed(question);
  const costmodel::Layout& layout = question.scenario.layout;
  const auto sent = [&](bool sends, std::initializer_list<Phase> phases) {
    return question.solo || !sends ? Seconds{} : of(times, phases);
  };
  const Row rows[] = {
      {"forward", of(predicted.forward, question.solo), of(times, {Phase::Forward})},
      {"backward", of(predicted.recompute, question.solo) + of(predicted.backward, question.solo),
       of(times, {Phase::Recompute, Phase::Backward})},
      {"clipping and optimizer", predicted.optimizer, of(times, {Phase::Clipping, Phase::Optimizer})},
      {"reduction and gathering", exposed.data_parallel,
       sent(layout.world_size() > 1, {Phase::Reduction, Phase::Gather})},
      {"waiting for other stages", exposed.pipeline, sent(layout.pp > 1, {Phase::Pipeline})},
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

/// Of a device with streams the host's time says only how long it took to hand messages over: they are
/// measured in the steps whose calls are timed, and what cannot be timed there is not measured.
void add_communication(const ValidationQuestion& question, const RankReport& rank, std::int64_t steps,
                       std::vector<ComparedTerm>& out) {
  if (question.solo) return;  // nothing was sent
  const bool streams = std::any_of(rank.traffic.begin(), rank.traffic.end(),
                                   [](const TrafficReport& sent) { return sent.count.timed > 0; });
  for (const costmodel::CommunicationTime& row :
       costmodel::communication_times(question.scenario, *question.calibration, rank.stage)) {
    TrafficCount sum;
    for (const TrafficReport& sent : rank.traffic) {
      if (sent.kind == row.kind && sent.group == row.group) sum += sent.count;
    }
    const double measured = streams ? sum.device_time.value() / static_cast<double>(rank.timed_steps)
                                    : sum.time.value() / static_cast<double>(steps);
    ComparedTerm term{TermGroup::Communication, fmt::format("{}, {}", name_of(row.kind), name_of(row.group)),
                      row.time.value(), measured};
    if (sum.device_time > Seconds{}) {
      term.bus_rate =
          sum.timed_bytes.value() / sum.device_time.value() *
          costmodel::bus_share(row.kind, costmodel::group_size(question.scenario.layout, row.group));
    }
    out.push_back(std::move(term));
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

/// What the driver counts against what the GPU has to hold: allocator, context and modules, communicators.
void add_device(const Scenario& scenario, const RankReport& rank, std::vector<ComparedTerm>& out) {
  double pool = 0, beside = fixed_bytes(rank.facts);
  for (const DeviceFact& fact : rank.facts) {
    if (fact.name == kPoolFact) pool = fact.value;
    if (fact.name.starts_with(kCommunicatorFact)) beside += fact.value;
  }
  if (pool <= 0) return;
  const costmodel::Estimate estimate = costmodel::estimate_step(scenario, {});
  out.push_back({TermGroup::Memory, "device: pool, context, communicators",
                 estimate.stages.at(static_cast<std::size_t>(rank.stage)).device.value(), pool + beside});
}

}  // namespace

MemoryBreakdown predicted_memory(const Scenario& scenario, int stage) {
  MemoryBreakdown kinds =
      costmodel::estimate_step(scenario, {}).stages.at(static_cast<std::size_t>(stage)).at_peak;
  // The executor's own tensors are counted; what lies outside its allocator is not.
  if (scenario.framework.replays_parameters) kinds.communication = kinds.overhead = {};
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
  add_device(question.scenario, rank, out);
  return out;
}

}  // namespace hexaplan::validator
