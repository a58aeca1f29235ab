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

DevicePeak device_peak(const MemoryLoad& load, const LiveLoad& live, bool flat, double reserved_ratio) {
  DevicePeak peak;
  Bytes highest{-1}, passes;
  std::size_t binding = 0;
  for (std::size_t i = 0; i < kInstants; ++i) {
    const MemoryLoad::At& at = load.at[i];
    const Bytes allocated = at.states + at.live + live.at[i];
    if (instant_at(static_cast<int>(i)) != kOptimizer) passes = larger(passes, allocated);
    const Bytes total = allocated + at.outside;
    if (highest < total) {
      highest = total;
      binding = i;
      peak.allocated = allocated;
    }
  }
  const Bytes states = load.at[binding].states;
  const Bytes held = larger(peak.allocated, flat ? passes + load.optimizer_only : passes);
  peak.instant = instant_at(static_cast<int>(binding));
  peak.reserved = states + (held - states) * reserved_ratio + load.unreclaimed + live.unreclaimed;
  peak.device = peak.reserved + load.at[binding].outside;
  return peak;
}

}  // namespace hexaplan::costmodel
