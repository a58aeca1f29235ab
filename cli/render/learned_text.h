#pragma once
#include <string>

#include "cli/commands/calibrate_runs.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// What `calibrate --from-runs` learned, as text and as hexaplan/learned/1.
[[nodiscard]] std::string learned_text(const RunCalibrateReport& report, const TextStyle& style);
[[nodiscard]] presets::JsonValue learned_json(const RunCalibrateReport& report);

}  // namespace hexaplan::cli
