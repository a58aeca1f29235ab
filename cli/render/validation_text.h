#pragma once
#include <string>

#include "charts/table_text.h"
#include "cli/commands/validate.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// Bytes of a term of memory, seconds of any other.
[[nodiscard]] std::string term_value_text(double value, validator::TermGroup group);
/// "stopped by Ctrl-C after 3 of 7 scenarios"; empty when all were through.
[[nodiscard]] std::string unfinished_text(const ValidateReport& report);
/// Scenarios in a table, term by term where there are few or `terms` asks, and the errors over all.
[[nodiscard]] std::string validation_text(const ValidateReport& report, bool terms, const TextStyle& style);
/// One row per scenario, numbers in base units: for --csv and --markdown.
[[nodiscard]] charts::Cells validation_cells(const ValidateReport& report);
/// "hexaplan/validation/1".
[[nodiscard]] presets::JsonValue validation_json(const ValidateReport& report);

}  // namespace hexaplan::cli
