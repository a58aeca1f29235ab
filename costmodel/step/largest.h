#pragma once
#include <cstddef>
#include <vector>

#include "costmodel/step/estimate.h"

namespace hexaplan::costmodel {

/// Entries of the ledger of `stage` that are alive at `instant`, largest first, at most `most`.
[[nodiscard]] std::vector<TensorEntry> largest_tensors(const Scenario& scenario, int stage, Instant instant,
                                                       std::size_t most);

/// An operation with its price, before anything is hidden behind anything else.
struct PricedOperation {
  Operation operation;
  double runs = 0;  // per optimizer step on one rank of the stage, recomputation included
  Seconds once;
  Seconds per_step;  // once × runs
};
/// Operations that one rank of `stage` spends most time in, largest first, at most `most`. Equal ones of
/// different layer classes are listed apart. "collective.host": what calls of collectives cost the host.
[[nodiscard]] std::vector<PricedOperation> largest_operations(const Scenario& scenario,
                                                              const Calibration& calibration, int stage,
                                                              std::size_t most);

}  // namespace hexaplan::costmodel
