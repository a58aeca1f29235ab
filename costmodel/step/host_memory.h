#pragma once
#include <optional>

#include "costmodel/spec/scenario.h"
#include "costmodel/spec/verdict.h"

namespace hexaplan::costmodel {

/// What offloaded tensors take.
struct HostLoad {
  Bytes memory, disk;
  friend HostLoad operator*(HostLoad load, double factor) {
    return {load.memory * factor, load.disk * factor};
  }
};

/// Of offloaded states and activations of one rank: states go where the recipe says, activations to memory.
[[nodiscard]] HostLoad host_load(const Recipe& recipe, Bytes states, Bytes activations);

/// The larger of both, by kind.
[[nodiscard]] HostLoad larger_of(const HostLoad& a, const HostLoad& b);

/// Of one node whose ranks each take `rank`.
[[nodiscard]] HostLoad of_node(const HostLoad& rank, const ClusterSpec& cluster);

/// True when the node has the room; a capacity that is not known is no limit.
[[nodiscard]] bool fits_on_host(const HostLoad& node, const HostSpec& host);

/// Why a node has no room for it, with the numbers; nothing when it has.  [docs/formulas.md#M8]
[[nodiscard]] std::optional<Rejected> host_rejection(const HostLoad& node, const HostSpec& host);

}  // namespace hexaplan::costmodel
