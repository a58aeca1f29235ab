#pragma once
#include <cstdint>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "validator/measure/compare/validation.h"

namespace hexaplan::validator {

/// What one rank of `stage` has alive at its peak: replayed for the executor's own profile, else the
/// estimate's.
[[nodiscard]] costmodel::MemoryBreakdown predicted_memory(const costmodel::Scenario& scenario, int stage);

/// Phases, kinds of work, communication by group (per step, where the question is calibrated and the rank
/// spent time on them) and memory by kind of one rank. `steps`: measured ones, over which the report sums.
[[nodiscard]] std::vector<ComparedTerm> compared_terms(const ValidationQuestion& question,
                                                       const RankReport& rank, std::int64_t steps);

/// Steps that the sums of a report are of: all but the warm-up.
[[nodiscard]] std::int64_t counted_steps(const std::vector<StepReport>& steps);

}  // namespace hexaplan::validator
