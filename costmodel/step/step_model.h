#pragma once
#include <array>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/stage_parameters.h"

namespace hexaplan::costmodel {

/// Step time of one scenario in closed form.  [docs/formulas.md#T8]
class StepModel {
 public:
  StepModel(const Scenario& scenario, const Calibration& calibration, const std::vector<StagePlan>& stages);

  /// One optimizer step, as the stage that sets the pace spends it; the parts add up to its total.
  [[nodiscard]] StepTime time() const;
  /// FLOPs that all ranks run in one step, recomputation included.
  [[nodiscard]] Flops hardware_flops() const;

 private:
  [[nodiscard]] StepTime time_paced_by(const std::vector<LayerCost>& costs, std::size_t slowest) const;
  [[nodiscard]] LayerCost stage_cost(const StagePlan& stage) const;
  [[nodiscard]] Seconds bubble(const std::vector<LayerCost>& costs, std::size_t slowest) const;
  [[nodiscard]] Seconds pipeline_messages() const;
  [[nodiscard]] Seconds data_parallel(const LayerCost& slowest, const StageParameters& parameters) const;
  [[nodiscard]] Seconds slices(const StageParameters& parameters) const;
  /// Time of the operations of one pass, one after the other.
  [[nodiscard]] Seconds total(const std::vector<Operation>& operations, Pass pass) const;
  [[nodiscard]] Seconds sharded_layer(const StageParameters& parameters, Seconds forward,
                                      Seconds backward) const;
  [[nodiscard]] Seconds sharded_parameters(const StagePlan& stage) const;
  [[nodiscard]] Seconds optimizer(const StageParameters& parameters) const;

  const Scenario& sc_;
  const Calibration& calibration_;
  const std::vector<StagePlan>& stages_;
  LocalDims dims_;
  Pricer pricer_;
  ModelParameters parameters_;
  std::array<LayerCost, kLayerClasses> layers_;
  LayerCost embedding_, head_;
  double microbatches_;
};

}  // namespace hexaplan::costmodel
