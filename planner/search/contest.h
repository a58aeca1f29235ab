#pragma once
#include <span>
#include <stop_token>
#include <vector>

#include "planner/problem/problem.h"
#include "planner/search/findings.h"
#include "planner/search/ranking.h"
#include "planner/search/work.h"

namespace hexaplan::planner {

/// Assumed largest relative difference between a simulated step and its closed form before anything was
/// simulated: the largest seen for schedules with a closed form (docs/search.md). A plan that differs more
/// raises it.
inline constexpr double kSimulationSpread = 0.03;
/// The most that it has taken off the closed form of a schedule that is replayed.
inline constexpr double kReplayedSpread = 0.2;

/// The best plans of a search, refined and simulated.
struct Finalists {
  std::vector<RankedPlan> plans;  // best first
  std::vector<Plan> refined;      // every refinement that meets the limits, in closed form
  Contest contest;
  bool misses_outclassed = false;  // a layout could be listed that the search left out for its bound
};

/// Refines and simulates candidates in order of their bounds until no remaining one can be listed, and ranks
/// the results. `found`: by hardware option. Uses the threads of the calling task arena; the result does not
/// depend on their number. After a stop it returns the best of those examined.
[[nodiscard]] Finalists hold_contest(const SearchProblem& problem, const Work& work,
                                     std::span<const Findings> found, const std::stop_token& stop);

/// True for a priced plan within the limits of memory, risk, time and cost.
[[nodiscard]] bool keeps_limits(const SearchProblem& problem, const Plan& plan);

/// One plan, refined and simulated like the finalists; unchanged if the problem asks for neither.
[[nodiscard]] Plan finished(const SearchProblem& problem, const Plan& plan);

}  // namespace hexaplan::planner
