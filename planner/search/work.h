#pragma once
#include <array>
#include <optional>
#include <vector>

#include "planner/problem/problem.h"
#include "planner/search/findings.h"
#include "planner/search/ranking.h"
#include "planner/search/space.h"

namespace hexaplan::planner {

/// Spaces of all hardware options and the units of work, numbered in the order in which candidates of equal
/// price rank.
struct Work {
  std::vector<Space> spaces;  // by hardware option
  std::vector<Unit> units;
};
[[nodiscard]] Work divide(const SearchProblem& problem);

/// The candidate as a plan.
[[nodiscard]] Plan plan_of(const SearchProblem& problem, const Work& work, const Scored& scored);

/// By limit, the slowest step that keeps it; infinite where nothing is asked, and for the limits of memory.
using SlowestSteps = std::array<costmodel::Seconds, kLimits>;
[[nodiscard]] SlowestSteps slowest_steps(const Constraints& constraints, const costmodel::Scenario& scenario);
/// The first limit of hours, dollars and MFU that such a step breaks.
[[nodiscard]] std::optional<Limit> broken_by_step(const SlowestSteps& slowest, costmodel::Seconds step);

/// What plans are ranked by: smaller is better.
class Goal {
 public:
  explicit Goal(const SearchProblem& problem);
  [[nodiscard]] double of(const costmodel::ClusterSpec& cluster, costmodel::Seconds step,
                          costmodel::Bytes peak) const;
  /// Whether it grows with the step time alone.
  [[nodiscard]] bool follows_step_time() const;

 private:
  Objective objective_;
  bool everything_priced_;  // every machine has a price
};

}  // namespace hexaplan::planner
