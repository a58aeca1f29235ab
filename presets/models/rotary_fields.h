#pragma once
#include "costmodel/spec/model_spec.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {

/// Rotary positions as files of transformers 4 (rope_theta, rope_scaling, partial_rotary_factor) and 5
/// (rope_parameters, also one object per kind of layer) have them. `defaults`: those of the class. The
/// model's max_positions are read before. InputError for a kind of scaling that is not known or lacks a
/// parameter.
[[nodiscard]] costmodel::RotarySpec read_rotary(ConfigFields& fields, const costmodel::ModelSpec& model,
                                                costmodel::RotarySpec defaults);

/// What YaRN scales attention by, per `m`: 0.1·m·ln(factor) + 1, at least 1 (arXiv:2309.00071 eq. 22).
[[nodiscard]] double yarn_magnitude(double factor, double m);

}  // namespace hexaplan::presets
