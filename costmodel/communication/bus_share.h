#pragma once
#include <cstdint>

#include "costmodel/program/collective_kind.h"

namespace hexaplan::costmodel {

/// Share of a collective's payload that crosses every rank's link: bus bandwidth over algorithm bandwidth
/// (NVIDIA/nccl-tests doc/PERFORMANCE.md, "Bus bandwidth"). Payloads are nccl-tests' sizes.
[[nodiscard]] constexpr double bus_share(CollectiveKind kind, std::int64_t ranks) {
  const double others = 1 - 1 / static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 2 * others;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      return others;
    default:
      return 1;
  }
}

}  // namespace hexaplan::costmodel
