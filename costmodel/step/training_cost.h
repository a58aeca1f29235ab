#pragma once
#include "costmodel/step/estimate.h"
#include "costmodel/step/goodput.h"

namespace hexaplan::costmodel {

/// What a whole training run takes at the predicted rate.  [docs/formulas.md#U3]
struct TrainingCost {
  double steps = 0;
  Seconds productive;     // all steps, each once
  Seconds wall;           // … with what failures and checkpoints cost; infinite where it never ends
  Interval wall_seconds;  // 90 %
  Goodput goodput;
  double failures = 0;        // that are expected
  double gpu_hours = 0;       // of all GPUs, spare nodes included; infinite as `wall` is, as what follows
  double dollars = 0;         // 0 when the GPU has no price
  double kilowatt_hours = 0;  // of the GPUs at their board power, times the site's PUE where it is known
};

/// Cost of training on `recipe.tokens` tokens with steps of `step`, of which 90 % lie within `interval`.
/// Precondition: tokens > 0.
[[nodiscard]] TrainingCost training_cost(const Scenario& scenario, Seconds step, Interval interval);
/// The same with the estimate's step. Precondition: the estimate has a time.
[[nodiscard]] TrainingCost training_cost(const Scenario& scenario, const Estimate& estimate);

/// GPUs that are paid for: those of the job and of its spare nodes.
[[nodiscard]] double paid_gpus(const Scenario& scenario);

}  // namespace hexaplan::costmodel
