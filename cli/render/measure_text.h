#pragma once
#include <string>

#include "cli/commands/measure.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string measure_text(const MeasureReport& report, const TextStyle& style);
/// "hexaplan/measure/1": docs/json.md.
[[nodiscard]] presets::JsonValue measure_json(const MeasureReport& report);

}  // namespace hexaplan::cli
