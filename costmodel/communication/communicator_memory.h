#pragma once
#include "costmodel/program/collective_kind.h"
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::costmodel {

/// Device memory that NCCL's buffers take on one rank once the group's communicator has run a collective of
/// this kind (connections are made at first use since NCCL 2.22).  [docs/formulas.md#M6]  Default buffer
/// sizes. A communicator used for several kinds needs the largest ring-type figure plus the largest
/// peer-to-peer figure.
[[nodiscard]] Bytes communicator_memory(CollectiveKind kind, const GroupPlacement& group,
                                        const ClusterSpec& cluster);

}  // namespace hexaplan::costmodel
