#pragma once
#include <string>
#include <vector>

#include "cli/commands/presets.h"
#include "cli/render/terminal.h"

namespace hexaplan::cli {

[[nodiscard]] std::string presets_text(const std::vector<PresetList>& lists, const TextStyle& style);
[[nodiscard]] std::string preset_text(const PresetContent& preset, const TextStyle& style);
/// "hexaplan/presets/1" and "hexaplan/preset/1": docs/json.md.
[[nodiscard]] presets::JsonValue presets_json(const std::vector<PresetList>& lists);
[[nodiscard]] presets::JsonValue preset_json(const PresetContent& preset);

}  // namespace hexaplan::cli
