#include "planner/search/unit_order.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "planner/search/space.h"

namespace hexaplan::planner {

using namespace costmodel;

namespace {

/// The unit's layout with `pp` stages whose pipeline is the first that the rules accept: micro-batches of the
/// fewest sequences, optimizer states sharded if that is tried, nothing recomputed. False where there is
/// none.
bool apply_plain(const Unit& unit, const Space& space, std::uint16_t pp, Scenario& sc) {
  Layout& l = sc.layout;
  l.vpp = 1;
  apply_grid(unit, space, {.pp = pp}, sc);
  if (l.world_size() != sc.cluster.gpus) return false;
  for (const Sharding& sharding : space.shardings_for(l.dp * l.cp, unit.offload)) {
    if (sharding.stage != 1) continue;
    l.sharding = sharding;
    break;
  }
  l.sp = l.tp > 1 && std::ranges::find(space.lists.sp, true) != space.lists.sp.end();
  sc.recipe.micro_batch = space.lists.micro_batch.front();
  sc.recipe.recompute = {};
  return std::ranges::any_of(l.pp > 1 ? space.pipes : space.without_pipeline, [&](const PipeOption& pipe) {
    l.schedule = pipe.schedule;
    l.vpp = pipe.vpp;
    l.split = pipe.split;
    return !first_rejection(sc);
  });
}

/// Goal and step of the unit's best plain layout. What needs more memory than there is pays for it with time.
std::pair<double, double> plain_goal(const SearchProblem& problem, const Goal& goal, const Space& space,
                                     const Unit& unit) {
  Scenario sc = base_on(problem, unit.hardware);
  std::pair least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (std::size_t pp = 0; pp < space.lists.pp.size(); ++pp) {
    if (!apply_plain(unit, space, static_cast<std::uint16_t>(pp), sc)) continue;
    const Estimate estimate = estimate_step(sc, problem.hardware[unit.hardware].calibration);
    const Bytes peak = estimate.peak().needed;
    const Seconds step = estimate.time.total() * std::max(1.0, peak / estimate.capacity);
    least = std::min(least, {goal.of(unit.hardware, step, peak), step.value()});
  }
  return least;
}

}  // namespace

std::vector<std::size_t> promising_first(const SearchProblem& problem, const Work& work) {
  const Goal goal{problem};
  std::vector<std::pair<double, double>> goals(work.units.size());
  tbb::parallel_for(std::size_t{0}, goals.size(), [&](std::size_t i) {
    const Unit& unit = work.units[i];
    goals[i] = plain_goal(problem, goal, work.spaces[unit.hardware], unit);
  });
  std::vector<std::size_t> order(goals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return goals[a] < goals[b]; });
  return order;
}

}  // namespace hexaplan::planner
