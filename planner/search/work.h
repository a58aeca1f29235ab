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

/// Standard deviation of ln(measured / predicted) of the scenario's step.
[[nodiscard]] double time_sigma_of(const SearchProblem& problem, std::size_t hardware,
                                   const costmodel::Scenario& scenario);
/// What the step time counts as in the ranking, over the predicted one: 1 unless plans are ranked by a
/// quantile.
[[nodiscard]] double caution(RankBy rank_by, double sigma);

/// What plans are ranked by: smaller is better.
class Goal {
 public:
  explicit Goal(const SearchProblem& problem);
  /// On hardware option `hardware`; `step` times its caution.
  [[nodiscard]] double of(std::size_t hardware, costmodel::Seconds step, costmodel::Bytes peak) const;
  /// Steps of hardware option `hardware` for the tokens of one step of the asked batch.
  [[nodiscard]] double steps(std::size_t hardware) const { return hardware_[hardware].steps; }
  /// Whether it grows with the step time alone.
  [[nodiscard]] bool follows_step_time() const;

 private:
  /// What of a hardware option goals read.
  struct Hardware {
    double gpus = 0, price_per_hour = 0;
    double paid = 0;   // GPUs, for each productive second
    double steps = 1;  // for the tokens of one step of the asked batch
    costmodel::Bytes memory;
  };
  Objective objective_;
  bool everything_priced_;  // every machine has a price
  std::vector<Hardware> hardware_;
};

}  // namespace hexaplan::planner
