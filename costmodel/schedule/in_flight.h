#pragma once
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// True where the stages have several chunks that differ in what they hold.
[[nodiscard]] bool has_unequal_chunks(const Scenario& scenario);

/// Micro-batches in flight on every stage when most of its layers' activations are alive, in units of all the
/// stage's layers. Where chunks differ, which of them are in flight decides: the order of tasks says, and
/// long ones, which repeat themselves, are walked in part. Results are kept per thread. [docs/formulas.md#S1]
[[nodiscard]] std::vector<double> microbatches_in_flight(const Scenario& scenario);

}  // namespace hexaplan::costmodel
