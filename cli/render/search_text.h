#pragma once
#include <string>
#include <vector>

#include "charts/table_text.h"
#include "cli/commands/search.h"
#include "cli/render/terminal.h"
#include "costmodel/program/not_modelled.h"
#include "costmodel/step/training_cost.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string search_text(const SearchReport& report, const TextStyle& style);
/// The ranked plans with whole numbers and units in the heads, for --csv and --markdown.
[[nodiscard]] charts::Cells plan_cells(const SearchReport& report);
/// The columns of `plan_cells`, and those of one plan, without its rank.
[[nodiscard]] std::vector<std::string> plan_heads();
[[nodiscard]] std::vector<std::string> plan_row(const SearchReport& report,
                                                const planner::RankedPlan& ranked);
/// A plan as `search_json` lists it.
[[nodiscard]] presets::JsonValue ranked_json(const SearchReport& report, const planner::RankedPlan& ranked);
/// A step's time, to four digits where a clock's minutes would hide what sets plans apart.
[[nodiscard]] std::string step_text(costmodel::Seconds step);
/// "hexaplan/search/1": docs/json.md.
[[nodiscard]] presets::JsonValue search_json(const SearchReport& report);

/// The flags that ask for this plan: what search did not vary is said where it is not the default.
[[nodiscard]] std::string words_of_plan(const SearchReport& report, const planner::Plan& plan);

/// The question with the plan's cluster, layout and recipe.
[[nodiscard]] costmodel::Scenario scenario_of(const SearchReport& report, const planner::Plan& plan);

/// 90 % interval of the step of a listed plan, around the step that it is listed with.
[[nodiscard]] costmodel::Interval interval_of(const planner::RankedPlan& ranked);
/// Days, cost and goodput of training on the recipe's tokens with the plan's step. Precondition: tokens > 0.
[[nodiscard]] costmodel::TrainingCost training_of(const SearchReport& report,
                                                  const planner::RankedPlan& ranked);
/// What the plan asks for and its numbers leave out.
[[nodiscard]] std::vector<costmodel::KnobNote> not_modelled_of(const SearchReport& report,
                                                               const planner::Plan& plan);

}  // namespace hexaplan::cli
