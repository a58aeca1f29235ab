#pragma once
#include <stop_token>
#include <vector>

#include "planner/problem/problem.h"
#include "planner/search/findings.h"
#include "planner/search/ranking.h"
#include "planner/search/work.h"

namespace hexaplan::planner {

/// What a simulated step may be off its closed form by before anything was simulated: the most that was seen
/// for schedules with a closed form (docs/search.md). Where one plan is farther off, its share is taken.
inline constexpr double kSimulationSpread = 0.03;

/// The best of what a search found, refined and simulated.
struct Finalists {
  std::vector<RankedPlan> plans;  // best first
  std::vector<Plan> refined;      // every refinement that was made and keeps the limits, in closed form
  Contest contest;
};

/// Refines and simulates candidates in the order of their bounds until none that is left can be listed, and
/// ranks what came out. Uses the calling task arena's threads; the answer does not depend on them. A stop
/// leaves the best of the first few.
[[nodiscard]] Finalists hold_contest(const SearchProblem& problem, const Work& work, const Findings& found,
                                     const std::stop_token& stop);

/// One plan, refined and simulated as finalists are; itself where neither is asked for.
[[nodiscard]] Plan finished(const SearchProblem& problem, const Plan& plan);

}  // namespace hexaplan::planner
