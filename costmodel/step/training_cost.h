#pragma once
#include <cstdint>

#include "costmodel/step/estimate.h"

namespace hexaplan::costmodel {

/// What a whole training run takes at the predicted rate.
struct TrainingCost {
  double steps = 0;
  Seconds wall;
  double gpu_hours = 0;
  double dollars = 0;  // 0 when the GPU has no price
};

/// Cost of training on `recipe.tokens` tokens without restarts.  Preconditions: tokens > 0, the estimate has
/// a time.
[[nodiscard]] inline TrainingCost training_cost(const Scenario& scenario, const Estimate& estimate) {
  constexpr double seconds_per_hour = 3600;
  const auto tokens = static_cast<double>(scenario.recipe.tokens);
  TrainingCost cost;
  cost.wall = Seconds{tokens / estimate.throughput.tokens_per_second};
  cost.steps = cost.wall / estimate.time.total();
  cost.gpu_hours = cost.wall.value() / seconds_per_hour * static_cast<double>(scenario.cluster.gpus);
  cost.dollars = cost.gpu_hours * scenario.cluster.gpu.price_per_hour;
  return cost;
}

}  // namespace hexaplan::costmodel
