#pragma once
#include <string>

#include "cli/render/terminal.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/training_cost.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// Days, cost and energy of a whole training, and what failures and checkpoints take of it.
[[nodiscard]] std::string training_text(const costmodel::Scenario& scenario,
                                        const costmodel::TrainingCost& cost, const TextStyle& style);
/// "training" of docs/json.md.
[[nodiscard]] presets::JsonValue training_json(const costmodel::Scenario& scenario,
                                               const costmodel::TrainingCost& cost);

}  // namespace hexaplan::cli
