#pragma once
#include <array>
#include <vector>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

/// A quantity of dense and of expert parameters apart: they travel over different groups.
struct DenseAndExpert {
  double dense = 0, expert = 0;
  [[nodiscard]] double all() const { return dense + expert; }
  DenseAndExpert& operator+=(const DenseAndExpert& other);
  friend DenseAndExpert operator*(DenseAndExpert quantity, double factor);
};

/// What each rank has of it where ZeRO cuts it over the shard group, experts' parts over theirs.
[[nodiscard]] double of_shard(const Layout& layout, const DenseAndExpert& quantity);

/// What Muon's Newton-Schulz iterations, the projections of GaLore and APOLLO, and Shampoo and SOAP multiply:
/// the matrices of the layers, each as this rank holds it.
struct MultipliedMatrices {
  double elements = 0, count = 0;
  double flops = 0;                                  // of all of them: orthogonalised, or projected once
  double shorter_by_flops = 0, longer_by_flops = 0;  // their sides, weighted by FLOPs
  double rank_by_flops = 0;                          // of subspaces
  double projection = 0, moment = 0;                 // elements of subspaces, and of gradients in them
  double svd_flops = 0;                              // of all of them, once
  // Of sides that have second moments: Σ of their squares, cubes, fourth powers.
  double side_squares = 0, side_cubes = 0, side_fourths = 0;
  /// A side, or a rank, of them by its sum weighted by FLOPs, on average.
  [[nodiscard]] std::int64_t mean(double MultipliedMatrices::*by_flops) const;
  MultipliedMatrices& operator+=(const MultipliedMatrices& other);
  friend MultipliedMatrices operator*(MultipliedMatrices matrices, double factor);
};

/// Parameters on one rank before ZeRO.
struct StageParameters {
  DenseAndExpert trained;     // elements that have gradients: all, or the adapters (in_state_types)
  DenseAndExpert reduced;     // that are reduced (in_gradient_types): more where a flat unit mixes frozen in
  DenseAndExpert gathered;    // bytes of all parameters, in the types in which sharded ones are gathered
  DenseAndExpert persistent;  // … of those that stay gathered between steps, which `gathered` has not
  double tensors = 0;         // how many trained parameters that is to the framework
  double modules = 0;         // … that are gathered, one by one where modules gather their own
  double buckets = 0;  // that their gradients fill, one data-parallel collective each  [docs/formulas.md#C8]
  MultipliedMatrices matrices;  // is_updated_by_matrix
  StageParameters& operator+=(const StageParameters& other);
  friend StageParameters operator*(StageParameters parameters, double factor);
};

/// Parameters of one layer of each class in use, of embedding and head, counted once per scenario.
class ModelParameters {
 public:
  ModelParameters(const Scenario& scenario, const std::vector<StagePlan>& stages);
  [[nodiscard]] const StageParameters& layer(std::size_t layer_class) const { return layers_[layer_class]; }
  [[nodiscard]] const StageParameters& embedding() const { return embedding_; }
  /// The head as a unit that gathers what it reads.
  [[nodiscard]] const StageParameters& head_unit() const { return head_unit_; }
  [[nodiscard]] StageParameters of(const StagePlan& stage) const;

 private:
  std::array<StageParameters, kLayerClasses> layers_;
  StageParameters embedding_, head_, head_unit_;
};

}  // namespace hexaplan::costmodel
