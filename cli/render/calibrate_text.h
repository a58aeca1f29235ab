#pragma once
#include <string>

#include "cli/commands/calibrate.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// What was measured, the fitted constants with their intervals, how far the curves are off, where it went.
[[nodiscard]] std::string calibrate_text(const CalibrateReport& report, const TextStyle& style);
/// Schema "hexaplan/calibrated/1".
[[nodiscard]] presets::JsonValue calibrate_json(const CalibrateReport& report);

}  // namespace hexaplan::cli
