#pragma once
#include <cstdint>

namespace hexaplan::costmodel {

/// A message of NCCL's between the ranks of a group.
enum class CollectiveKind : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  SendRecv,
  Broadcast
};

}  // namespace hexaplan::costmodel
