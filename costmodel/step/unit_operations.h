#pragma once
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/memory/flat_units.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Collectives that parameters need in one step of the executor, one row per flat buffer and purpose
/// (FrameworkProfile::replays_parameters): gathering and reducing from ZeRO stage 2 or 3 on with every
/// micro-batch, sums over tensor-parallel ranks, the tied embedding's, the gradient norm with the loss; and
/// copies over the host's link of what is offloaded.  [docs/formulas.md#C10]
[[nodiscard]] std::vector<Operation> unit_operations(const Scenario& scenario, int stage);

}  // namespace hexaplan::costmodel
