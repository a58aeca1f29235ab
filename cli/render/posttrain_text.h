#pragma once
#include <string>

#include "cli/commands/posttrain.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string posttrain_text(const PostTrainReport& report, const TextStyle& style);
/// "hexaplan/posttrain-plan/1": docs/json.md.
[[nodiscard]] presets::JsonValue posttrain_json(const PostTrainReport& report);

}  // namespace hexaplan::cli
