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
/// "predicted for megatron: step 203 ms, 12.4 GiB of the GPU"; empty where no framework was asked about.
[[nodiscard]] std::string other_text(const validator::ValidatedScenario& scenario);
/// One line of the ranks of a job: how many where, the slowest and the fastest. Empty where there is one.
[[nodiscard]] std::string ranks_text(const validator::ValidatedScenario& scenario);
/// Scenarios in a table, term by term where there are few or `terms` asks, and the errors over all.
[[nodiscard]] std::string validation_text(const ValidateReport& report, bool terms, const TextStyle& style);
/// One row per scenario, numbers in base units: for --csv and --markdown.
[[nodiscard]] charts::Cells validation_cells(const ValidateReport& report);
/// "hexaplan/validation/1".
[[nodiscard]] presets::JsonValue validation_json(const ValidateReport& report);

}  // namespace hexaplan::cli
