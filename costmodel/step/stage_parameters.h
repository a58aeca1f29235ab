#pragma once
#include <array>
#include <vector>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

/// Parameters on one rank before ZeRO, dense and expert ones apart: they reduce over different groups.
struct StageParameters {
  double dense = 0, expert = 0;
  double tensors = 0;  // how many parameters that is to the framework
  double buckets = 0;  // that their gradients fill, one data-parallel collective each  [docs/formulas.md#C8]
  [[nodiscard]] double all() const { return dense + expert; }
  StageParameters& operator+=(const StageParameters& other);
  friend StageParameters operator*(StageParameters parameters, double factor);
};

/// Parameters of one layer of each class in use and of the two ends, counted once per scenario.
class ModelParameters {
 public:
  ModelParameters(const Scenario& scenario, const std::vector<StagePlan>& stages);
  [[nodiscard]] const StageParameters& layer(std::size_t layer_class) const { return layers_[layer_class]; }
  [[nodiscard]] const StageParameters& embedding() const { return embedding_; }
  [[nodiscard]] const StageParameters& head() const { return head_; }
  [[nodiscard]] StageParameters of(const StagePlan& stage) const;

 private:
  std::array<StageParameters, kLayerClasses> layers_;
  StageParameters embedding_, head_;
};

}  // namespace hexaplan::costmodel
