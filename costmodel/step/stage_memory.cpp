#include "costmodel/step/stage_memory.h"

#include <bit>
#include <cstddef>

#include "costmodel/communication/device_overhead.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/memory_kinds.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/in_flight.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/step/host_memory.h"

namespace hexaplan::costmodel {
namespace {

using ByInstant = std::array<MemoryBreakdown, kInstants>;

/// Adds `times` an entry wherever it is alive.
void add_alive(const TensorEntry& entry, double times, ByInstant& at) {
  const Bytes size = entry.size() * times;
  for (unsigned left = entry.alive; left != 0; left &= left - 1)
    at[static_cast<std::size_t>(std::countr_zero(left))].of(entry.kind) += size;
}

/// Live bytes by instant, and what lies outside the framework's allocator (`device`).
ByInstant with_device(ByInstant at, const TensorLedger& device) {
  for (const TensorEntry& entry : device) add_alive(entry, 1, at);
  return at;
}

/// Backward writes over what forward kept: where it has consumed more than it holds, less is kept.
void take_from_kept(std::vector<ReplayedMemory>& stages) {
  for (ReplayedMemory& stage : stages) {
    for (MemoryBreakdown& at : stage.at) {
      const Bytes consumed = smaller(Bytes{}, at.transient);
      at.activations += consumed;
      at.transient -= consumed;
    }
  }
}

/// What the host has at most, in memory and on its disks.
HostLoad replayed_host(const Recipe& recipe, const ReplayedMemory& replayed) {
  HostLoad most;
  for (const MemoryBreakdown& at : replayed.host)
    most = larger_of(most, host_load(recipe, at.parameters + at.gradients + at.optimizer, at.activations));
  return most;
}

}  // namespace

MemoryModel::MemoryModel(const Scenario& sc, const Calibration& calibration,
                         const std::vector<StagePlan>& stages)
    : scenario_{sc},
      parameters_{sc, used_classes(stages)},
      activations_{sc, local_dims(sc), used_classes(stages)} {
  append_device_entries(sc, device_overhead(sc, calibration), device_);
  if (!needs_replay(sc)) return;
  replayed_ = replay_peaks(sc);
  if (!sc.framework.replays_parameters) take_from_kept(replayed_);
}

template <class Visitor>
void MemoryModel::visit_beside_passes(const StagePlan& stage, const Visitor& visit) const {
  if (!replays_passes()) return;
  parameters_.visit(scenario_, stage, visit);
  activations_.visit_buffers(visit);
}

std::array<MemoryBreakdown, kInstants> MemoryModel::beside_passes(const StagePlan& stage) const {
  ByInstant at{};
  visit_beside_passes(stage, [&](const TensorEntry& entry, double factor) { add_alive(entry, factor, at); });
  return at;
}

TensorLedger MemoryModel::printed_ledger(const StagePlan& stage, int index, double in_flight) const {
  if (!replays_passes()) return ledger(stage, in_flight);
  TensorLedger out;
  const auto add = [&](TensorEntry entry, double factor) {
    entry.count *= factor;
    out.push_back(entry);
  };
  visit_beside_passes(stage, add);
  for (const TensorEntry& entry : device_) add(entry, 1);
  struct Row {
    TensorKind kind;
    std::string_view name;
  };
  constexpr std::array kRows{Row{TensorKind::Activation, "passes.kept"},
                             Row{TensorKind::Logits, "head.logits"},
                             Row{TensorKind::Transient, "passes.working_set"}};
  const ReplayedMemory& replayed = replayed_[static_cast<std::size_t>(index)];
  for (std::size_t i = 0; i < kInstants; ++i) {
    for (const Row& row : kRows) {
      const double bytes = replayed.at[i].of(row.kind).value();
      if (bytes <= 0) continue;
      out.push_back({.name = row.name,
                     .formula = "M8",
                     .kind = row.kind,
                     .dtype = DType::Int8,
                     .alive = instant_at(static_cast<int>(i)),
                     .elements = bytes});
    }
  }
  return out;
}

template <class Visitor>
void MemoryModel::visit_entries(const StagePlan& stage, double in_flight, const Visitor& visit) const {
  parameters_.visit(scenario_, stage, visit);
  activations_.visit(stage, in_flight, visit);
  for (const TensorEntry& entry : device_) visit(entry, 1.0);
}

TensorLedger MemoryModel::ledger(const StagePlan& stage, double in_flight) const {
  TensorLedger out;
  visit_entries(stage, in_flight, [&](TensorEntry entry, double factor) {
    entry.count *= factor;
    out.push_back(entry);
  });
  return out;
}

MemoryModel::States MemoryModel::states_of(const StagePlan& stage) const {
  States states;
  if (!replayed_.empty()) return states;
  parameters_.visit(scenario_, stage, [&](const TensorEntry& entry, double factor) {
    if (entry.alive == kOptimizer) states.optimizer_only += entry.size() * factor;
    add_alive(entry, factor, states.at);
  });
  states.unreclaimed = parameters_.unreclaimed(scenario_, stage);
  return states;
}

/// In the order of visit_entries, so that sums are the same to the last bit.
std::array<MemoryBreakdown, kInstants> MemoryModel::sums(const States& states, const StagePlan& stage,
                                                         double in_flight, MemoryLoad& load) const {
  std::array<MemoryBreakdown, kInstants> at = states.at;
  load.optimizer_only = states.optimizer_only;
  const auto add = [&](const TensorEntry& entry, double factor) {
    if (entry.alive == kOptimizer) load.optimizer_only += entry.size() * factor;
    add_alive(entry, factor, at);
  };
  activations_.visit(stage, in_flight, add);
  for (const TensorEntry& entry : device_) add(entry, 1.0);
  load.unreclaimed = states.unreclaimed + activations_.unreclaimed(stage, in_flight);
  return at;
}

std::array<MemoryBreakdown, kInstants> MemoryModel::replayed(const StagePlan& stage, int index,
                                                             double in_flight, MemoryLoad& load) const {
  auto at = with_device(replayed_[static_cast<std::size_t>(index)].at, device_);
  if (!replays_passes()) return at;
  const auto beside = beside_passes(stage);
  for (std::size_t i = 0; i < kInstants; ++i) {
    for (const MemoryKind& kind : kMemoryKinds) at[i].of(kind.kind) += beside[i].of(kind.kind);
  }
  visit_beside_passes(stage, [&](const TensorEntry& entry, double factor) {
    if (entry.alive == kOptimizer) load.optimizer_only += entry.size() * factor;
  });
  load.unreclaimed = parameters_.unreclaimed(scenario_, stage) + activations_.unreclaimed(stage, in_flight);
  return at;
}

std::vector<StageMemory> MemoryModel::peaks(const std::vector<StagePlan>& stages,
                                            const std::vector<double>& in_flight) const {
  std::vector<StageMemory> all;
  all.reserve(stages.size());
  States states;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const bool as_before = s > 0 && stages[s] == stages[s - 1];
    if (as_before && replayed_.empty() && in_flight[s] == in_flight[s - 1]) {
      all.push_back(all.back());
      all.back().stage = static_cast<int>(s);
      continue;
    }
    if (!as_before) states = states_of(stages[s]);
    all.push_back(peak(stages[s], static_cast<int>(s), in_flight[s], states));
  }
  return all;
}

StageMemory MemoryModel::peak(const StagePlan& stage, int index, double in_flight) const {
  return peak(stage, index, in_flight, states_of(stage));
}

StageMemory MemoryModel::peak(const StagePlan& stage, int index, double in_flight,
                              const States& states) const {
  MemoryLoad load;
  const auto at =
      replayed_.empty() ? sums(states, stage, in_flight, load) : replayed(stage, index, in_flight, load);
  for (std::size_t i = 0; i < kInstants; ++i) load.at[i] = MemoryLoad::At::of(at[i]);
  const DevicePeak peak = device_peak(load, {}, allocator_of(scenario_));
  StageMemory memory;
  memory.stage = index;
  memory.layers = stage.total_layers() - stage.mtp_modules();
  memory.microbatches_in_flight = in_flight;
  memory.at_peak = at[index_of(peak.instant)];
  memory.instant = peak.instant;
  memory.allocated = peak.allocated;
  memory.reserved = peak.reserved;
  memory.device = peak.device;
  memory.needed = peak.needed;
  memory.update = at[index_of(kOptimizer)].allocated();
  memory.idle = at[index_of(kIdle)].allocated();
  const HostLoad host = replays_host()
                            ? replayed_host(scenario_.recipe, replayed_[static_cast<std::size_t>(index)])
                            : host_load(scenario_.recipe, parameters_.offloaded(scenario_, stage),
                                        activations_.offloaded(stage, in_flight));
  memory.host = host.memory;
  memory.disk = host.disk;
  return memory;
}

namespace {

/// The same step with fewer micro-batches, where the pipeline only repeats itself in between: from four per
/// stage on an order that splits the backward has warm-up, steady state and cool-down, and reaches no new
/// peak (law in tests/costmodel/step/replayed_need_test.cpp). Hexaplan's executor keeps the tokens of all
/// micro-batches.
Scenario shortened(Scenario sc) {
  if (sc.framework.replays_parameters) return sc;
  const std::int64_t enough = std::int64_t{4} * sc.layout.pp;
  if (microbatches_per_step(sc) > enough && splits_backward(sc.layout.schedule))
    sc.recipe.global_batch = enough * sc.recipe.micro_batch * sc.layout.batch_ranks();
  return sc;
}

}  // namespace

std::vector<LiveLoad> replayed_live(const Scenario& scenario, const ActivationMemory& activations) {
  const Scenario sc = shortened(scenario);
  const std::vector<StagePlan> plans = plan_stages(sc);
  const std::vector<double> in_flight = microbatches_in_flight(sc);
  std::vector<ReplayedMemory> replayed = replay_peaks(sc);
  take_from_kept(replayed);
  std::vector<LiveLoad> stages(plans.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    ByInstant at = replayed[s].at;
    activations.visit_buffers([&](const TensorEntry& entry, double times) { add_alive(entry, times, at); });
    for (std::size_t i = 0; i < kInstants; ++i) stages[s].at[i] = MemoryLoad::At::of(at[i]).live;
    stages[s].unreclaimed = activations.unreclaimed(plans[s], in_flight[s]);
  }
  return stages;
}

Bytes replayed_need(const Scenario& scenario, const Calibration& calibration) {
  const Scenario sc = shortened(scenario);
  const std::vector<StagePlan> stages = plan_stages(sc);
  const MemoryModel model{sc, calibration, stages};
  const std::vector<double> in_flight = microbatches_in_flight(sc);
  Bytes most;
  for (int stage = 0; stage < sc.layout.pp; ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    most = larger(most, model.peak(stages[at], stage, in_flight[at]).needed);
  }
  return most;
}

}  // namespace hexaplan::costmodel
