#include "planner/search/work.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "costmodel/step/model_flops.h"
#include "costmodel/step/technique_evidence.h"
#include "costmodel/step/training_cost.h"
#include "planner/search/search.h"

namespace hexaplan::planner {

using namespace costmodel;

namespace {
constexpr double kLeastGoodput = 1e-300;  // of a run that never ends
}

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
  Scenario sc = base_on(problem, unit.hardware);
  apply(unit, work.spaces[unit.hardware], scored.candidate, sc);
  return {.hardware = unit.hardware,
          .layout = sc.layout,
          .recipe = sc.recipe,
          .price = price_of(sc, problem.hardware[unit.hardware].calibration, scored.step, scored.peak)};
}

SlowestSteps slowest_steps(const Constraints& c, const Scenario& sc) {
  const double steps =
      static_cast<double>(sc.recipe.tokens) / static_cast<double>(tokens_per_step(sc.recipe));
  const double seconds_per_hour = 3600;
  SlowestSteps slowest;
  slowest.fill(Seconds{std::numeric_limits<double>::infinity()});
  const auto limit = [&](Limit which) -> Seconds& { return slowest[static_cast<std::size_t>(which)]; };
  // Both are of the whole run, failures included.
  const double productive = c.hours || c.dollars ? goodput(sc).productive : 1;
  if (c.hours) limit(Limit::Hours) = Seconds{*c.hours * seconds_per_hour * productive / steps};
  if (c.dollars) {
    const double price = sc.cluster.gpu.price_per_hour * paid_gpus(sc) / seconds_per_hour /
                         std::max(productive, kLeastGoodput);
    limit(Limit::Dollars) = Seconds{price > 0 ? *c.dollars / price / steps : 0.0};
  }
  if (c.mfu) {
    const double peak =
        sc.cluster.gpu.peak_of(sc.recipe.precision).value() * static_cast<double>(sc.cluster.gpus);
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

double time_sigma_of(const SearchProblem& problem, std::size_t hardware, const Scenario& scenario) {
  return time_sigma(problem.base.framework, problem.hardware[hardware].calibration,
                    added_variance(techniques_used(scenario)));
}

double caution(RankBy rank_by, double sigma) {
  return rank_by == RankBy::P90 ? ninth_decile(sigma) : 1;
}

namespace {

/// GPUs that are paid for during a productive second of the run: no more than the job's where no run is asked
/// for.
double paid_per_productive(const Scenario& sc) {
  if (sc.recipe.tokens == 0) return static_cast<double>(sc.cluster.gpus);
  return paid_gpus(sc) / std::max(goodput(sc).productive, kLeastGoodput);
}

}  // namespace

Goal::Goal(const SearchProblem& problem)
    : objective_{problem.objective},
      everything_priced_{
          std::all_of(problem.hardware.begin(), problem.hardware.end(),
                      [](const HardwareOption& m) { return m.cluster.gpu.price_per_hour > 0; })} {
  const auto asked = static_cast<double>(problem.base.recipe.global_batch);
  for (const HardwareOption& option : problem.hardware) {
    hardware_.push_back(
        {.gpus = static_cast<double>(option.cluster.gpus),
         .price_per_hour = option.cluster.gpu.price_per_hour,
         .paid = paid_per_productive(base_on(problem, hardware_.size())),
         .steps = option.global_batch > 0 ? asked / static_cast<double>(option.global_batch) : 1.0,
         .memory = option.cluster.gpu.memory});
  }
}

double Goal::of(std::size_t hardware, Seconds step, Bytes peak) const {
  const Hardware& on = hardware_[hardware];
  const double seconds = step.value() * on.steps;
  switch (objective_) {
    case Objective::StepTime:
      return seconds;
    case Objective::TokensPerGpu:
      return seconds * on.gpus;
    case Objective::Cost:
      return seconds * on.paid * (everything_priced_ ? on.price_per_hour : 1.0);
    case Objective::Gpus:
      return on.gpus;
    case Objective::MemoryHeadroom:
      return (peak - on.memory).value();
  }
  return seconds;
}

bool Goal::follows_step_time() const {
  return objective_ == Objective::StepTime || objective_ == Objective::TokensPerGpu ||
         objective_ == Objective::Cost;
}

}  // namespace hexaplan::planner
