#pragma once
#include <string>

#include "cli/commands/oracle.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// Totals, then what differs most; under a part of a layer that differs, its tensors on both sides.
[[nodiscard]] std::string oracle_text(const OracleReport& report, const TextStyle& style);
/// hexaplan/oracle/1.
[[nodiscard]] presets::JsonValue oracle_json(const OracleReport& report);

}  // namespace hexaplan::cli
