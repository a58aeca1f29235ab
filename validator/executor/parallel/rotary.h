#pragma once
#include <cstdint>

#include "costmodel/spec/model_spec.h"
#include "validator/executor/device/rotation.h"

namespace hexaplan::validator {

/// Columns of a head that turn: the share that the model says, rounded down; of latent attention the part of
/// queries and keys that carries positions.
[[nodiscard]] std::int64_t rotated_columns(const costmodel::ModelSpec& model);

/// The rotation of a model on sequences of `sequence` tokens, which dynamic scaling and
/// LongRoPE look at; nothing without rotary positions. Precondition: rotated_columns is even and at most
/// 2·Rotation::kMostPairs.
[[nodiscard]] Rotation rotation_of(const costmodel::ModelSpec& model, std::int64_t sequence);
/// The same in layers with a window, which may have a base of their own and no scaling (Gemma-3).
[[nodiscard]] Rotation windowed_rotation(const costmodel::ModelSpec& model, std::int64_t sequence);

}  // namespace hexaplan::validator
