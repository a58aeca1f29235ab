#pragma once
#include <string>

#include "cli/commands/finetune.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string finetune_text(const FinetuneReport& report, const TextStyle& style);
/// "hexaplan/finetune/1": docs/json.md.
[[nodiscard]] presets::JsonValue finetune_json(const FinetuneReport& report);

}  // namespace hexaplan::cli
