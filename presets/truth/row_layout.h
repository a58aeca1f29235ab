#pragma once
#include "costmodel/spec/layout.h"
#include "costmodel/spec/recipe.h"
#include "presets/truth/truth_row.h"

namespace hexaplan::presets {

/// The layout of a row. Words of the vocabularies that name nothing here throw NoScenario
/// (scenario_of_row.h).
[[nodiscard]] costmodel::Layout layout_of(const TruthRow& row);
/// How the row trains.
[[nodiscard]] costmodel::Recipe recipe_of(const TruthRow& row, int chunks);

}  // namespace hexaplan::presets
