#include "costmodel/step/stage_memory.h"

#include <cstddef>

#include "costmodel/communication/device_overhead.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/program/replay_memory.h"

namespace hexaplan::costmodel {
namespace {

/// Live bytes by instant, and what lies outside the framework's allocator (`device`).
std::array<MemoryBreakdown, kInstants> with_device(std::array<MemoryBreakdown, kInstants> at,
                                                   const TensorLedger& device) {
  for (const TensorEntry& entry : device) {
    for (std::size_t i = 0; i < kInstants; ++i) {
      if ((entry.alive & instant_at(static_cast<int>(i))) != 0) at[i].of(entry.kind) += entry.size();
    }
  }
  return at;
}

}  // namespace

MemoryModel::MemoryModel(const Scenario& sc, const Calibration& calibration,
                         const std::vector<StagePlan>& stages)
    : scenario_{sc},
      parameters_{sc, used_classes(stages)},
      activations_{sc, local_dims(sc), used_classes(stages)} {
  append_device_entries(sc, device_overhead(sc, calibration), device_);
  if (needs_replay(sc)) replayed_ = replay_peaks(sc);
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

std::array<MemoryBreakdown, kInstants> MemoryModel::sums(const StagePlan& stage, double in_flight,
                                                         MemoryLoad& load) const {
  std::array<MemoryBreakdown, kInstants> at{};
  visit_entries(stage, in_flight, [&](const TensorEntry& entry, double factor) {
    const Bytes size = entry.size() * factor;
    if (entry.alive == kOptimizer) load.optimizer_only += size;
    for (std::size_t i = 0; i < kInstants; ++i) {
      if ((entry.alive & instant_at(static_cast<int>(i))) != 0) at[i].of(entry.kind) += size;
    }
  });
  load.unreclaimed = parameters_.unreclaimed(scenario_, stage) + activations_.unreclaimed(stage, in_flight);
  return at;
}

StageMemory MemoryModel::peak(const StagePlan& stage, int index, double in_flight) const {
  MemoryLoad load;
  const auto at = replayed_.empty() ? sums(stage, in_flight, load)
                                    : with_device(replayed_[static_cast<std::size_t>(index)].at, device_);
  for (std::size_t i = 0; i < kInstants; ++i) load.at[i] = MemoryLoad::At::of(at[i]);
  const DevicePeak peak = device_peak(load, {}, allocator_of(scenario_));
  StageMemory memory;
  memory.stage = index;
  memory.layers = stage.total_layers();
  memory.microbatches_in_flight = in_flight;
  memory.at_peak = at[index_of(peak.instant)];
  memory.instant = peak.instant;
  memory.allocated = peak.allocated;
  memory.reserved = peak.reserved;
  memory.device = peak.device;
  memory.needed = peak.needed;
  memory.update = at[index_of(kOptimizer)].allocated();
  memory.idle = at[index_of(kIdle)].allocated();
  return memory;
}

Bytes replayed_need(const Scenario& sc, const Calibration& calibration) {
  TensorLedger device;
  append_device_entries(sc, device_overhead(sc, calibration), device);
  const Allocator allocator = allocator_of(sc);
  Bytes most;
  for (const ReplayedMemory& stage : replay_peaks(sc)) {
    const auto at = with_device(stage.at, device);
    MemoryLoad load;
    for (std::size_t i = 0; i < kInstants; ++i) load.at[i] = MemoryLoad::At::of(at[i]);
    most = larger(most, device_peak(load, {}, allocator).needed);
  }
  return most;
}

}  // namespace hexaplan::costmodel
