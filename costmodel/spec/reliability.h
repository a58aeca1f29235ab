#pragma once
#include <optional>

#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// How often parts of a cluster fail, and what it takes to go on. What is unset counts as
/// docs/formulas.md#U4 assumes.
struct Reliability {
  std::optional<Seconds> gpu_mtbf;   // mean time between failures of one GPU and the process that it runs
  std::optional<Seconds> node_mtbf;  // … of what else is in a node
  std::optional<Seconds> link_mtbf;  // … of one GPU's link to other nodes
  std::optional<BytesPerSecond> storage_bandwidth;  // of the checkpoints of the whole job
  std::optional<Seconds> restart_time;              // until training goes on, without loading the checkpoint
  std::optional<Seconds> repair_time;               // until a node that failed is back
  std::optional<int> spare_nodes;                   // beside those of the job; unset: one is always at hand
  std::optional<double> pue;                        // energy of the site over that of the GPUs
  friend bool operator==(const Reliability&, const Reliability&) = default;
};

/// What `first` says, else `second`.
[[nodiscard]] constexpr Reliability overlaid(Reliability first, const Reliability& second) {
  const auto fill = [&](auto member) {
    if (!(first.*member)) first.*member = second.*member;
  };
  fill(&Reliability::gpu_mtbf);
  fill(&Reliability::node_mtbf);
  fill(&Reliability::link_mtbf);
  fill(&Reliability::storage_bandwidth);
  fill(&Reliability::restart_time);
  fill(&Reliability::repair_time);
  fill(&Reliability::spare_nodes);
  fill(&Reliability::pue);
  return first;
}

/// When the states of a run are written, and what waits for it.
struct Checkpointing {
  std::optional<Seconds> interval;  // of training between two checkpoints; unset: the best one
  /// The GPUs wait for the copy to host memory alone, which is written beside the steps that follow.
  bool asynchronous = false;
  friend bool operator==(const Checkpointing&, const Checkpointing&) = default;
};

}  // namespace hexaplan::costmodel
