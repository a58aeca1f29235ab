#pragma once
#include <string>

#include "charts/table_text.h"
#include "cli/commands/sweep.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// Throughput as a grid of the axes, then the best plan of every cell, or why it has none.
[[nodiscard]] std::string sweep_text(const SweepReport& report, const TextStyle& style);
/// A row for each cell: its place, its plan as `plan_cells` has it, or the reason for none.
[[nodiscard]] charts::Cells sweep_cells(const SweepReport& report);
/// "hexaplan/sweep/1": docs/json.md.
[[nodiscard]] presets::JsonValue sweep_json(const SweepReport& report);

}  // namespace hexaplan::cli
