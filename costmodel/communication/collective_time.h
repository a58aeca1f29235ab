#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/program/collective_kind.h"
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::costmodel {

enum class Algorithm : std::uint8_t { None, Ring, Tree, Nvls, NvlsTree, Pat, Direct };
enum class Protocol : std::uint8_t { LL, LL128, Simple };

/// What NCCL would choose and how long it would take.
struct CollectiveCost {
  Seconds time;
  Algorithm algorithm = Algorithm::None;  // None: nothing to send, or measured whatever was chosen
  Protocol protocol = Protocol::Simple;
  bool measured = false;  // read from a calibration curve rather than the model
};

/// Time of one collective over a group. `payload` is the size of the full tensor (nccl-tests' "size": the
/// all-gather's output, the reduce-scatter's input, one rank's all-to-all buffer); for SendRecv the bytes
/// sent. One rank costs nothing. Intra-node curves of the calibration are used where they exist; otherwise,
/// and between nodes, NCCL's own algorithm and protocol choice is mirrored.  [docs/formulas.md#C1]  No
/// allocation.
[[nodiscard]] CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupPlacement& group,
                                             const ClusterSpec& cluster, const Calibration& calibration);

}  // namespace hexaplan::costmodel
