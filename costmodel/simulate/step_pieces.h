#pragma once
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

/// One pass of one micro-batch: kernels, and collectives that they wait for.
struct PassTime {
  Seconds compute, exposed;
  [[nodiscard]] constexpr Seconds total() const { return compute + exposed; }
  friend bool operator==(const PassTime&, const PassTime&) = default;
  friend constexpr PassTime operator+(const PassTime& a, const PassTime& b) {
    return {a.compute + b.compute, a.exposed + b.exposed};
  }
};

/// What a model chunk of a stage costs.
struct ChunkPieces {
  PassTime forward, backward_input, backward_weight, recomputed;
  Seconds gather_wait, scatter_wait;    // of each forward and backward, where gathered by layer
  Seconds head_forward, head_backward;  // share of the output layer and its loss
  Seconds gathering, reduction;         // of its parameters and gradients, where once per step
  int buckets = 1;
  friend bool operator==(const ChunkPieces&, const ChunkPieces&) = default;
};

/// What a stage does once per step.
struct StagePieces {
  Seconds update, slices, mirror;  // mirror: DualPipe's copies of the model add up their gradients
  Seconds outer = {};              // messages of outer steps, a step's share of them
  friend bool operator==(const StagePieces&, const StagePieces&) = default;
};

/// Everything that a step is put together from.  [docs/formulas.md#T8]
struct StepPieces {
  std::vector<ChunkPieces> chunks;  // [stage · chunks + chunk]
  std::vector<StagePieces> stages;
  Seconds message;
  friend bool operator==(const StepPieces&, const StepPieces&) = default;
};

/// The same prices as `estimate_step`'s, by chunk instead of by stage.
[[nodiscard]] StepPieces price_pieces(const Scenario& scenario, const Calibration& calibration,
                                      const std::vector<StagePlan>& stages,
                                      const std::vector<StagePlan>& chunks);

}  // namespace hexaplan::costmodel
