#pragma once
#include "gui/app/document/evaluation.h"
#include "presets/json/object_reader.h"

namespace hexaplan::gui {

/// The question with every gap filled and the names of what nobody said, as --save-scenario writes it, so
/// that later versions answer the same; as it was said where it is not understood.
[[nodiscard]] presets::JsonValue scenarioJson(const Evaluation& evaluation);
/// The question as it was said: what was filled in follows from the rest again.
[[nodiscard]] presets::ScenarioRequest readScenarioAsAsked(const presets::ValueReader& scenario);

}  // namespace hexaplan::gui
