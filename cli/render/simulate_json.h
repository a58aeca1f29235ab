#pragma once
#include "cli/commands/simulate.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// hexaplan/simulation/1 (docs/json.md).
[[nodiscard]] presets::JsonValue simulate_json(const SimulateReport& report);

}  // namespace hexaplan::cli
