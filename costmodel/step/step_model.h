#pragma once
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/stage_parameters.h"
#include "costmodel/step/stage_times.h"
#include "costmodel/step/step_parts.h"

namespace hexaplan::costmodel {

/// Step time of one scenario in closed form.  [docs/formulas.md#T8]
class StepModel {
 public:
  StepModel(const Scenario& scenario, const Calibration& calibration, const std::vector<StagePlan>& stages);

  /// One optimizer step, as the stage that sets the pace spends it; the parts add up to its total.
  [[nodiscard]] StepTime time() const;
  /// What one rank of `stage` spends.
  [[nodiscard]] StageTimes times_of(std::size_t stage) const;
  /// FLOPs that all ranks run in one step, recomputation included.
  [[nodiscard]] Flops hardware_flops() const;

 private:
  [[nodiscard]] std::size_t accounted(const std::vector<StageLoad>& loads, std::size_t slowest) const;
  [[nodiscard]] StageTransfers transfers_of(std::size_t stage) const;
  [[nodiscard]] StepTime time_paced_by(const std::vector<StageLoad>& loads, std::size_t slowest,
                                       const StageTransfers& transfers, Seconds span) const;
  [[nodiscard]] Seconds span_of(const std::vector<StageLoad>& loads) const;
  [[nodiscard]] LayerCost stage_cost(const StagePlan& stage) const;

  const Scenario& sc_;
  const Calibration& calibration_;
  const std::vector<StagePlan>& stages_;
  Pricer pricer_;
  ModelParameters parameters_;
  LayerPrices prices_;
  LayerTotals totals_;
  StepCombiner combiner_;
  double microbatches_;
};

}  // namespace hexaplan::costmodel
