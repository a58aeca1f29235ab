#pragma once
#include "cli/commands/accuracy.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// "hexaplan/accuracy/1": docs/json.md. `rows`: with every case.
[[nodiscard]] presets::JsonValue accuracy_json(const AccuracyResult& result, bool rows);

}  // namespace hexaplan::cli
