#pragma once
#include <string>

#include "cli/commands/history.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// The list, a record's figures, or two records' figures side by side. Export: as history_json.
[[nodiscard]] std::string history_text(const HistoryReport& report, const TextStyle& style);
/// "hexaplan/runs/1": records; with their whole reports unless they were only listed.
[[nodiscard]] presets::JsonValue history_json(const HistoryReport& report);

}  // namespace hexaplan::cli
