#include "costmodel/memory/memory_load.h"

#include <cassert>
#include <cstddef>

namespace hexaplan::costmodel {
namespace {

bool is_state(TensorKind kind) {
  return kind == TensorKind::Parameter || kind == TensorKind::Gradient || kind == TensorKind::OptimizerState;
}
bool is_outside(TensorKind kind) {
  return kind == TensorKind::Communication || kind == TensorKind::Overhead;
}

}  // namespace

MemoryLoad::At MemoryLoad::At::of(const MemoryBreakdown& kinds) {
  return {.states = kinds.parameters + kinds.gradients + kinds.optimizer,
          .live = kinds.activations + kinds.logits + kinds.transient,
          .outside = kinds.communication + kinds.overhead};
}

void MemoryLoad::add(const TensorEntry& entry, double times) {
  const Bytes size = entry.size() * times;
  Bytes At::*const part = is_state(entry.kind)     ? &At::states
                          : is_outside(entry.kind) ? &At::outside
                                                   : &At::live;
  for (std::size_t i = 0; i < kInstants; ++i) {
    if ((entry.alive & instant_at(static_cast<int>(i))) != 0) at[i].*part += size;
  }
  if (entry.alive == kOptimizer) optimizer_only += size;
}

MemoryLoad& MemoryLoad::operator+=(const MemoryLoad& o) {
  for (std::size_t i = 0; i < kInstants; ++i) {
    at[i].states += o.at[i].states;
    at[i].live += o.at[i].live;
    at[i].outside += o.at[i].outside;
  }
  optimizer_only += o.optimizer_only;
  unreclaimed += o.unreclaimed;
  return *this;
}

MemoryLoad operator*(MemoryLoad load, double factor) {
  for (MemoryLoad::At& at : load.at) {
    at.states *= factor;
    at.live *= factor;
    at.outside *= factor;
  }
  load.optimizer_only *= factor;
  load.unreclaimed *= factor;
  return load;
}

MemoryLoad load_of(const TensorLedger& ledger) {
  MemoryLoad load;
  for (const TensorEntry& entry : ledger) load.add(entry, 1);
  return load;
}

LiveLoad live_load_of(const TensorLedger& ledger) {
  LiveLoad load;
  for (const TensorEntry& entry : ledger) {
    assert(!is_state(entry.kind) && !is_outside(entry.kind) && entry.alive != kOptimizer);
    for (std::size_t i = 0; i < kInstants; ++i) {
      if ((entry.alive & instant_at(static_cast<int>(i))) != 0) load.at[i] += entry.size();
    }
  }
  return load;
}

Allocator allocator_of(const Scenario& sc) {
  const FrameworkProfile& f = sc.framework;
  const bool varies = sc.recipe.padding == BatchPadding::Longest;
  return {.flat = f.flat_optimizer_buffers,
          .reserved_ratio = varies ? f.varying_reserved_ratio : f.reserved_ratio,
          .unreleasable_share = varies ? f.varying_unreleasable_share : f.unreleasable_share,
          .capacity = sc.cluster.gpu.memory};
}

/// The allocator keeps what it once took, so its peak is the largest of all instants; short of memory, it
/// gives back every segment in which nothing lives and tries again.
DevicePeak device_peak(const MemoryLoad& load, const LiveLoad& live, const Allocator& allocator) {
  DevicePeak peak;
  const double share = allocator.unreleasable_share;
  const Bytes unreclaimed = load.unreclaimed + live.unreclaimed;
  Bytes fullest{-1}, passes;
  for (std::size_t i = 0; i < kInstants; ++i) {
    const MemoryLoad::At& at = load.at[i];
    const Instant instant = instant_at(static_cast<int>(i));
    const Bytes alive = at.live + live.at[i];
    peak.allocated = larger(peak.allocated, at.states + alive);
    Bytes device = at.outside + at.states + alive * allocator.reserved_ratio + unreclaimed;
    if (instant != kOptimizer) {
      passes = larger(passes, device);
    } else if (allocator.flat) {
      // No hole that the passes left takes the step's buffers.
      device = larger(device, passes + load.optimizer_only * allocator.reserved_ratio);
    }
    const Bytes tensors = at.outside + at.states + alive;
    peak.needed = larger(peak.needed, tensors + (device - tensors) * share);
    if (device <= fullest) continue;
    fullest = device;
    peak.instant = instant;
  }
  peak.device = smaller(fullest, larger(allocator.capacity, peak.needed));
  peak.reserved = peak.device - load.at[index_of(peak.instant)].outside;
  return peak;
}

}  // namespace hexaplan::costmodel
