#include "costmodel/step/training_cost.h"

#include <algorithm>
#include <cmath>

namespace hexaplan::costmodel {
namespace {

constexpr double kSecondsPerHour = 3600;

double ln_between(double from, double to) {
  return from > 0 && to > 0 ? std::log(to / from) : 0;
}

/// Failures beyond the expected ones, or short of them, at one end: a Poisson number's own spread. Where none
/// happens with 95 % none is added, and never less than none.
double failures_off(double expected, int side) {
  constexpr double kNone = 0.0513;  // -ln 0.95
  const double spread = kNinetyPercent * std::sqrt(expected);
  if (side < 0) return -std::min(expected, spread);
  return expected < kNone ? 0 : spread;
}

/// ln(wall time / expected wall time) at one end (`side` −1 or 1) of the 90 % interval: the step's own, the
/// rate of failures, and how many there happen to be, as independent errors.
double end_of(const Scenario& scenario, const TrainingCost& cost, double ln_step, int side) {
  const Goodput& g = cost.goodput;
  const double factor = std::exp(side * kNinetyPercent * g.rate_sigma);
  const double rate = ln_between(goodput(scenario, factor).productive, g.productive);
  const Seconds lost = g.restart + g.interval / 2;
  const double count =
      std::log(larger(cost.productive, cost.wall + failures_off(cost.failures, side) * lost) / cost.wall);
  return side * std::hypot(ln_step, rate, count);
}

}  // namespace

double paid_gpus(const Scenario& scenario) {
  const int spare = reliability_of(scenario).spare_nodes.value_or(0);
  return static_cast<double>(scenario.cluster.gpus) +
         static_cast<double>(spare) * scenario.cluster.gpus_per_node;
}

TrainingCost training_cost(const Scenario& scenario, Seconds step, Interval interval) {
  TrainingCost cost;
  cost.goodput = goodput(scenario);
  cost.steps =
      static_cast<double>(scenario.recipe.tokens) / static_cast<double>(tokens_per_step(scenario.recipe));
  cost.productive = step * cost.steps;
  cost.wall = cost.productive / cost.goodput.productive;
  const double wall = cost.wall.value(), hours = wall / kSecondsPerHour;
  const GpuSpec& gpu = scenario.cluster.gpu;
  cost.gpu_hours = hours * paid_gpus(scenario);
  cost.dollars = gpu.price_per_hour > 0 ? cost.gpu_hours * gpu.price_per_hour : 0;
  const double kilowatts = static_cast<double>(scenario.cluster.gpus) * gpu.power_watts / 1000;
  cost.kilowatt_hours = hours * kilowatts * reliability_of(scenario).pue.value_or(1);
  cost.wall_seconds = {wall, wall};
  if (!std::isfinite(wall)) return cost;
  cost.failures = cost.wall * (1 - cost.goodput.waiting) / cost.goodput.mtbf;
  cost.wall_seconds = {wall * std::exp(end_of(scenario, cost, ln_between(interval.low, step.value()), -1)),
                       wall * std::exp(end_of(scenario, cost, ln_between(step.value(), interval.high), 1))};
  return cost;
}

TrainingCost training_cost(const Scenario& scenario, const Estimate& estimate) {
  return training_cost(scenario, estimate.time.total(), estimate.step_seconds);
}

}  // namespace hexaplan::costmodel
