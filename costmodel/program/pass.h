#pragma once
#include <cstdint>

namespace hexaplan::costmodel {

/// What an operation is part of: forward, gradients of inputs (dgrad), gradients of weights (wgrad), or the
/// optimizer step with its reductions, once for all micro-batches.
enum class Pass : std::uint8_t { Forward, BackwardData, BackwardWeight, Step };

}  // namespace hexaplan::costmodel
