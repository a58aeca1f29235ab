#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/simulate/simulation.h"
#include "costmodel/step/estimate.h"
#include "planner/fitting/fitting_changes.h"
#include "planner/search/ranking.h"
#include "planner/search/sensitivity.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::report {

/// A question and its answer.
struct Answer {
  std::string name;                      // what it is called among several; empty: by its model and layout
  presets::ScenarioRequest request;      // as asked; it travels inside the page
  presets::CalibratedScenario resolved;  // the same with everything looked up
  costmodel::Estimate estimate;
  std::vector<planner::FittingChange> changes;  // where it does not fit safely: what would
  [[nodiscard]] bool priced() const { return !estimate.stages.empty(); }
};

/// What a search found around the question of a page.
struct Found {
  planner::SearchProblem problem;
  planner::Ranking ranking;
  std::vector<planner::ChangedMachines> sensitivity = {};  // only where asked for
};

/// Everything that a page tells.
struct PlanReport {
  std::string program;                              // "hexaplan 0.1.0 (abc)"
  std::vector<Answer> answers;                      // at least one; the first is what the page is about
  std::optional<costmodel::Simulation> simulation;  // of the first, with spans and memory
  std::string not_simulated;                        // why there is none; empty: nobody asked
  std::optional<Found> found;
};

/// One page in one file: verdict, memory with a ledger that unfolds to the tensor, time, timeline, plans that
/// were found, comparison, inputs, evidence, formulas. The answers' requests are inside
/// (presets::scenario_script), so that the page is a scenario file, too. User text is escaped.
[[nodiscard]] std::string plan_page(const PlanReport& report);

/// "llama-3.1-8b on 64 × h100-80-sxm, tp2 pp4 dp8".
[[nodiscard]] std::string title_of(const Answer& answer);

/// Longest operations of a stage that a page lists; their formulas stand among its formulas.
inline constexpr std::size_t kOperationsListed = 15;

// The parts of the page, which other pages show as well. Preconditions: the answer is priced.

/// Verdict, figures, and what to change where it does not fit safely; of any answer.
[[nodiscard]] std::string summary_part(const Answer& answer);
/// Picture and table by stage and kind.
[[nodiscard]] std::string memory_part(const Answer& answer);
/// Every byte of a stage, unfolding from kinds to tensors; whole bytes that add up. The stages of long
/// pipelines are represented by the first ones, the last one and the fullest.
[[nodiscard]] std::string ledger_part(const Answer& answer);
/// Picture by cause, and the longest operations.
[[nodiscard]] std::string time_part(const Answer& answer);
/// The timeline and the memory over the step of every stage.
[[nodiscard]] std::string timeline_part(const Answer& answer, const costmodel::Simulation& simulation);
/// The plans of a search: as a picture, as a table, the best on other machines, and what was left out by
/// which rule.
[[nodiscard]] std::string found_part(const Found& found);
/// Inputs that differ, then every figure, all against the first.
[[nodiscard]] std::string comparison_part(const std::vector<Answer>& answers);
/// The question with every gap filled; of any answer.
[[nodiscard]] std::string inputs_part(const Answer& answer);
/// How far the numbers can be trusted: intervals, curves, assumptions, what they leave out.
[[nodiscard]] std::string evidence_part(const Answer& answer);
/// The formulas of the ledger and of the longest operations.
[[nodiscard]] std::string formulas_part(const Answer& answer);

/// An input and its value, in words.
struct Input {
  std::string name, value;
};
[[nodiscard]] std::vector<Input> inputs_of(const Answer& answer);

}  // namespace hexaplan::report
