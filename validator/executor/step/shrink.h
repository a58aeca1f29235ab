#pragma once
#include <cstdint>

#include "costmodel/spec/scenario.h"

namespace hexaplan::validator {

/// The scenario with its model made so small that threads of one machine run it: the layout and what it cuts
/// stay (heads over tp, more tp ranks than kv heads, layers over stages with their remainder, experts over
/// ep, a vocabulary that needs padding), widths keep their ratios as far as the cuts allow. Micro-batches
/// stay as many as fill the pipeline twice. Data parallelism alone is cut, to a divisor, until at most
/// `most_ranks` are left: replicas do the same as each other. Precondition: the rules accept the scenario;
/// they accept the result.
[[nodiscard]] costmodel::Scenario shrink(const costmodel::Scenario& scenario, std::int64_t most_ranks = 64);

}  // namespace hexaplan::validator
