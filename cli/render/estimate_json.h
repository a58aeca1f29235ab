#pragma once
#include "cli/commands/estimate.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// "hexaplan/estimate/1": docs/json.md.
[[nodiscard]] presets::JsonValue estimate_json(const EstimateReport& report);
/// {"gemm": seconds, …}
[[nodiscard]] presets::JsonValue causes_json(const costmodel::StepTime& time);

/// Published runs nearest to the scenario, with what is predicted for them, and how many support its
/// techniques.
[[nodiscard]] presets::JsonValue published_json(const costmodel::Scenario& scenario);

}  // namespace hexaplan::cli
