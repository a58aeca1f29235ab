#pragma once
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/layer_cost.h"

namespace hexaplan::costmodel {

/// What one rank of a stage spends in one optimizer step, by pass and kind of work. Nothing here hides behind
/// anything else but what Pricer::price hides.
struct StageTimes {
  PassCost forward, recompute, backward;  // all micro-batches that the stage runs
  Seconds optimizer;                      // with the gradient norm
  /// Without communication.
  [[nodiscard]] constexpr Seconds compute() const {
    return forward.compute() + recompute.compute() + backward.compute() + optimizer;
  }
};
/// [docs/formulas.md#T10]
[[nodiscard]] StageTimes stage_times(const Scenario& scenario, const Calibration& calibration, int stage);

/// Collectives of one kind and group in one step of one rank, each priced by itself, nothing hidden.
struct CommunicationTime {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Group group = Group::World;
  double messages = 0;
  Seconds time;
};
/// What the executor sends (count_step), priced. [docs/formulas.md#T10]
[[nodiscard]] std::vector<CommunicationTime> communication_times(const Scenario& scenario,
                                                                 const Calibration& calibration, int stage);

/// A step whose computing takes `ratio` times as long as predicted while messages take what they take: what
/// one rank that computes alone says of the whole job. [docs/formulas.md#T10]
[[nodiscard]] StepTime with_compute_scaled(const StepTime& predicted, double ratio);

}  // namespace hexaplan::costmodel
