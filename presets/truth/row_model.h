#pragma once
#include "costmodel/spec/model_spec.h"
#include "presets/truth/truth_row.h"

namespace hexaplan::presets {

/// The model of a row by its features. Throws NoScenario (scenario_of_row.h) for architectures that are not
/// modelled.
[[nodiscard]] costmodel::ModelSpec model_of(const TruthRow& row);

}  // namespace hexaplan::presets
