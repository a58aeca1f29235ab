#pragma once
#include <string>
#include <vector>

#include "cli/commands/measure.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string snapshots_text(const std::vector<ImportedSnapshot>& snapshots,
                                         const TextStyle& style);
/// `snapshots[]` of "hexaplan/measure/1".
[[nodiscard]] presets::JsonArray snapshots_json(const std::vector<ImportedSnapshot>& snapshots);

}  // namespace hexaplan::cli
