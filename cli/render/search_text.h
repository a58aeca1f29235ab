#pragma once
#include <string>
#include <vector>

#include "charts/table_text.h"
#include "cli/commands/search.h"
#include "cli/render/terminal.h"
#include "costmodel/program/not_modelled.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string search_text(const SearchReport& report, const TextStyle& style);
/// The ranked plans with whole numbers and units in the heads, for --csv and --markdown.
[[nodiscard]] charts::Cells plan_cells(const SearchReport& report);
/// "hexaplan/search/1": docs/json.md.
[[nodiscard]] presets::JsonValue search_json(const SearchReport& report);

/// The flags that ask for this plan: what search did not vary is said where it is not the default.
[[nodiscard]] std::string words_of_plan(const SearchReport& report, const planner::Plan& plan);

/// The question with the plan's cluster, layout and recipe.
[[nodiscard]] costmodel::Scenario scenario_of(const SearchReport& report, const planner::Plan& plan);

/// What the plan asks for and its numbers leave out.
[[nodiscard]] std::vector<costmodel::KnobNote> not_modelled_of(const SearchReport& report,
                                                               const planner::Plan& plan);

}  // namespace hexaplan::cli
