#pragma once
#include <string>

#include "charts/table_text.h"
#include "cli/commands/compare.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string compare_text(const CompareReport& report, const TextStyle& style);
/// Every term of every side as a plain number, unit in the first column.
[[nodiscard]] charts::Cells compare_cells(const CompareReport& report);
/// "hexaplan/compare/1": docs/json.md.
[[nodiscard]] presets::JsonValue compare_json(const CompareReport& report);

}  // namespace hexaplan::cli
