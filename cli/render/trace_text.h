#pragma once
#include <string>
#include <vector>

#include "cli/commands/measure.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// A table of the ranks where there are several, then where each one's steps go (of many ranks: the one that
/// computes longest).
[[nodiscard]] std::string traces_text(const std::vector<ImportedTrace>& traces, const TextStyle& style);
/// `traces[]` of "hexaplan/measure/1".
[[nodiscard]] presets::JsonArray traces_json(const std::vector<ImportedTrace>& traces);

}  // namespace hexaplan::cli
