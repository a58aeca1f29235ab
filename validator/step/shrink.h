#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::validator {

/// Ranks that one machine still runs as threads.
inline constexpr std::int64_t kMostThreads = 256;

struct Shrunk {
  costmodel::Scenario scenario;
  std::vector<std::string> changes;  // "hidden 16384 → 256": what is not as it was asked
};

/// The scenario with a model and a batch that a laptop runs: the same layout (fewer data-parallel replicas
/// where it has more than `most_ranks` ranks), the same relations between heads, kv heads and tp, between
/// layers and stages, experts and ep, the same number of micro-batches up to two rounds of the pipeline.
/// Experts can be filled evenly. Small models stay as they are. Precondition: the rules accept it.
[[nodiscard]] Shrunk shrink(const costmodel::Scenario& scenario, std::int64_t most_ranks = kMostThreads);

}  // namespace hexaplan::validator
