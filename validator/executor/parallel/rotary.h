#pragma once
#include <cstdint>

#include "costmodel/spec/model_spec.h"
#include "validator/executor/device/rotation.h"

namespace hexaplan::validator {

/// Columns of a head that turn: the share that the model says, rounded down.
[[nodiscard]] std::int64_t rotated_columns(const costmodel::ModelSpec& model);

/// The rotation of a model with rotary positions on sequences of `sequence` tokens, which dynamic scaling and
/// LongRoPE look at. Precondition: rotated_columns is even and at most 2·Rotation::kMostPairs.
[[nodiscard]] Rotation rotation_of(const costmodel::ModelSpec& model, std::int64_t sequence);

}  // namespace hexaplan::validator
