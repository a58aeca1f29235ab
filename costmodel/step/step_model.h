#pragma once
#include <array>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/layer_cost.h"

namespace hexaplan::costmodel {

/// Parameters of a stage on one rank before ZeRO, dense and expert ones apart (they reduce over different
/// groups).
struct StageParameters {
  double dense = 0, expert = 0;
  double tensors = 0;  // separate ones
  [[nodiscard]] double all() const { return dense + expert; }
};

/// Step time of one scenario in closed form.  [docs/formulas.md#T8]
class StepModel {
 public:
  StepModel(const Scenario& scenario, const Calibration& calibration, const std::vector<StagePlan>& stages);

  [[nodiscard]] StepTime time() const;
  [[nodiscard]] Flops hardware_flops() const;

 private:
  [[nodiscard]] StepTime time_paced_by(const std::vector<LayerCost>& costs, std::size_t slowest) const;
  [[nodiscard]] LayerCost stage_cost(const StagePlan& stage) const;
  [[nodiscard]] StageParameters stage_parameters(const StagePlan& stage) const;
  /// Share of the stage's layers that recompute anything.
  [[nodiscard]] double recomputed_share(const StagePlan& stage) const;
  [[nodiscard]] Seconds bubble(const std::vector<LayerCost>& costs, std::size_t slowest) const;
  [[nodiscard]] Seconds pipeline_messages() const;
  [[nodiscard]] Seconds updated_parameters(const StageParameters& parameters) const;
  [[nodiscard]] Seconds data_parallel(const LayerCost& slowest, const StageParameters& parameters) const;
  [[nodiscard]] Seconds slices(const StageParameters& parameters) const;
  [[nodiscard]] Seconds sharded_parameters(const LayerCost& slowest, const StagePlan& stage) const;
  [[nodiscard]] Seconds optimizer(const StageParameters& parameters) const;

  const Scenario& sc_;
  const Calibration& calibration_;
  const std::vector<StagePlan>& stages_;
  LocalDims dims_;
  Pricer pricer_;
  std::array<LayerCost, kLayerClasses> layers_;
  std::array<StageParameters, kLayerClasses> layer_parameters_;
  LayerCost embedding_, head_;
  StageParameters embedding_parameters_, head_parameters_;
  double microbatches_ = 1;
};

}  // namespace hexaplan::costmodel
