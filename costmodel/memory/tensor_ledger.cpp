#include "costmodel/memory/tensor_ledger.h"

#include <array>
#include <bit>
#include <cstddef>

namespace hexaplan::costmodel {

std::string_view name_of(Instant instant) {
  static constexpr std::array<std::string_view, kInstants> kNames = {
      "forward", "loss", "head backward", "backward", "optimizer step", "between steps"};
  return kNames[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(instant)))];
}

Bytes size_of(const TensorLedger& ledger) {
  Bytes sum;
  for (const TensorEntry& entry : ledger) sum += entry.size();
  return sum;
}

MemoryBreakdown sum_alive(const TensorLedger& ledger, Instant instant) {
  MemoryBreakdown sum;
  for (const TensorEntry& entry : ledger) {
    if ((entry.alive & instant) != 0) sum.of(entry.kind) += entry.size();
  }
  return sum;
}

}  // namespace hexaplan::costmodel
