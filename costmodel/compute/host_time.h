#pragma once
#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::costmodel {

/// GPUs that share one host; at least one.
[[nodiscard]] double gpus_of_node(const ClusterSpec& cluster);

/// Time of copying `payload` between one GPU and pinned host memory, or the node's disks, in one direction;
/// every GPU of a node has a link of its own, and all share the host's memory and disks.
/// [docs/formulas.md#T11]
[[nodiscard]] Seconds host_copy_time(Bytes payload, bool on_disk, const ClusterSpec& cluster);

/// Time of an update on the CPU that reads and writes `bytes` for each GPU of a node: as fast as the node's
/// memory, or as its disks where the states lie there.  [docs/formulas.md#T11]
[[nodiscard]] Seconds host_update_time(Bytes bytes, bool on_disk, const ClusterSpec& cluster);

}  // namespace hexaplan::costmodel
