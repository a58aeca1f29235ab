#include "planner/search/work.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "costmodel/step/model_flops.h"
#include "planner/search/search.h"

namespace hexaplan::planner {

using namespace costmodel;

Work divide(const SearchProblem& problem) {
  Work work;
  for (std::size_t m = 0; m < problem.hardware.size(); ++m) {
    work.spaces.push_back(make_space(problem, m));
    const auto units = units_of(problem, work.spaces.back(), m);
    work.units.insert(work.units.end(), units.begin(), units.end());
  }
  return work;
}

Plan plan_of(const SearchProblem& problem, const Work& work, const Scored& scored) {
  const Unit& unit = work.units[scored.candidate.unit];
  Scenario sc = problem.base;
  sc.cluster = problem.hardware[unit.hardware].cluster;
  apply(unit, work.spaces[unit.hardware], scored.candidate, sc);
  return {.hardware = unit.hardware,
          .layout = sc.layout,
          .recipe = sc.recipe,
          .price = price_of(sc, problem.hardware[unit.hardware].calibration, scored.step, scored.peak)};
}

SlowestSteps slowest_steps(const Constraints& c, const Scenario& sc) {
  const auto gpus = static_cast<double>(sc.cluster.gpus);
  const double steps =
      static_cast<double>(sc.recipe.tokens) / static_cast<double>(tokens_per_step(sc.recipe));
  const double seconds_per_hour = 3600;
  SlowestSteps slowest;
  slowest.fill(Seconds{std::numeric_limits<double>::infinity()});
  const auto limit = [&](Limit which) -> Seconds& { return slowest[static_cast<std::size_t>(which)]; };
  if (c.hours) limit(Limit::Hours) = Seconds{*c.hours * seconds_per_hour / steps};
  if (c.dollars) {
    const double price = sc.cluster.gpu.price_per_hour * gpus / seconds_per_hour;
    limit(Limit::Dollars) = Seconds{price > 0 ? *c.dollars / price / steps : 0.0};
  }
  if (c.mfu) {
    const double peak = sc.cluster.gpu.peak_of(sc.recipe.precision).value() * gpus;
    limit(Limit::Mfu) =
        Seconds{model_flops_per_step(sc, AttentionFlops::CausalHalved).value() / peak / *c.mfu};
  }
  return slowest;
}

std::optional<Limit> broken_by_step(const SlowestSteps& slowest, Seconds step) {
  for (const Limit limit : {Limit::Hours, Limit::Dollars, Limit::Mfu}) {
    if (slowest[static_cast<std::size_t>(limit)] < step) return limit;
  }
  return std::nullopt;
}

Goal::Goal(const SearchProblem& problem)
    : objective_{problem.objective},
      everything_priced_{
          std::all_of(problem.hardware.begin(), problem.hardware.end(),
                      [](const HardwareOption& m) { return m.cluster.gpu.price_per_hour > 0; })} {}

double Goal::of(const ClusterSpec& cluster, Seconds step, Bytes peak) const {
  const auto gpus = static_cast<double>(cluster.gpus);
  switch (objective_) {
    case Objective::StepTime:
      return step.value();
    case Objective::TokensPerGpu:
      return step.value() * gpus;
    case Objective::Cost:
      return step.value() * gpus * (everything_priced_ ? cluster.gpu.price_per_hour : 1.0);
    case Objective::Gpus:
      return gpus;
    case Objective::MemoryHeadroom:
      return (peak - cluster.gpu.memory).value();
  }
  return step.value();
}

bool Goal::follows_step_time() const {
  return objective_ == Objective::StepTime || objective_ == Objective::TokensPerGpu ||
         objective_ == Objective::Cost;
}

}  // namespace hexaplan::planner
