#pragma once
#include <string>

#include "cli/commands/verify.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// What was executed beside what was predicted, every difference, and a verdict.
[[nodiscard]] std::string verify_text(const VerifyReport& report, const TextStyle& style);
[[nodiscard]] presets::JsonValue verify_json(const VerifyReport& report);

}  // namespace hexaplan::cli
