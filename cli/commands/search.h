#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/question.h"
#include "cli/options.h"
#include "costmodel/units/quantity.h"
#include "planner/explain/explain.h"
#include "planner/fitting/fitting_changes.h"
#include "planner/search/search.h"
#include "planner/search/sensitivity.h"
#include "planner/search/unused_techniques.h"
#include "presets/json/object_reader.h"

namespace hexaplan::cli {

/// Two ranked plans, term by term.
struct PlanExplanation {
  std::size_t plan = 0, other = 0;  // indices into Ranking::plans
  planner::Explanation terms;
};

/// Everything `hexaplan search` has to say.
struct SearchReport {
  Question question;  // its layout is not read
  planner::SearchProblem problem;
  planner::Ranking ranking;
  std::optional<PlanExplanation> explanation;
  std::vector<planner::ChangedMachines> sensitivity;  // only where asked for
  /// Where nothing was found: what would make the candidate fit that comes closest to the memory, or to the
  /// risk, allowed.
  struct Help {
    costmodel::Layout layout;
    std::vector<planner::FittingChange> changes;
  };
  std::optional<Help> help;
  /// Where the fewest GPUs that meet a deadline were asked for: the fastest plan on the next smaller number.
  struct Fewer {
    std::int64_t gpus = 0;
    std::optional<planner::RankedPlan> best;  // nothing keeps the other limits
  };
  std::optional<Fewer> fewer;
  std::vector<planner::UnusedTechnique>
      techniques;  // with which a listed plan would be faster than the first
  costmodel::Seconds elapsed;
  [[nodiscard]] bool varies_hardware() const {
    return problem.hardware.back().cluster.name != problem.hardware.front().cluster.name;
  }
  [[nodiscard]] bool varies_batch() const { return problem.hardware.front().global_batch > 0; }
};

/// The question and the problem, without an answer; writes --save-scenario. InputError when something cannot
/// be used.
[[nodiscard]] SearchReport read_search(const SearchOptions& options);
/// What the search leaves out although its lists ask for it or the framework has it; `ask_for_tensor` are the
/// words by which the caller would have tensor parallelism looked at.
[[nodiscard]] std::vector<std::string> notes_of_search(const planner::SearchProblem& problem,
                                                       std::string_view ask_for_tensor);
/// The words of --objective.
[[nodiscard]] std::span<const presets::Named<planner::Objective>> objective_names();
/// Threads to search with; 0 = one per core.
[[nodiscard]] int threads_of(const SearchOptions& options);

/// Reads the question and the space, searches. A progress bar is drawn on stderr where that is a terminal and
/// `quiet` is false; Ctrl-C ends the search with the best so far (`Ranking::stopped`), a second one the
/// program. InputError when something cannot be used.
[[nodiscard]] SearchReport run_search(const SearchOptions& options, bool quiet);
/// The same for callers with a progress and an end of their own (`how`): no signal is caught, nothing is
/// drawn.
[[nodiscard]] SearchReport run_search(const SearchOptions& options, planner::SearchOptions how);

/// The question of one plan as a scenario file would hold it, every gap filled.
[[nodiscard]] presets::ScenarioRequest request_of(const SearchReport& report, const planner::Plan& plan);

}  // namespace hexaplan::cli
