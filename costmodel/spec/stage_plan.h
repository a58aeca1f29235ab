#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What one pipeline stage holds.
struct StagePlan {
  std::array<int, kLayerClasses> layers{};  // by index_of(LayerClass)
  double embedding = 0;  // share of the embedding held: 1, or 1/pp under vocabulary parallelism
  double head = 0;
  int recomputed = 0;  // layers that keep their input alone and run their whole forward again
  friend bool operator==(const StagePlan&, const StagePlan&) = default;
  [[nodiscard]] int total_layers() const { return layers[0] + layers[1] + layers[2] + layers[3]; }
};

/// Layers of every model chunk in model order (pp·vpp entries).  [docs/formulas.md#S2]
[[nodiscard]] std::vector<int> chunk_layers(const Scenario& scenario);

/// Stages in rank order. Chunk i of the model lies on stage i mod pp (interleaved), or runs down and up again
/// for the V-shaped schedules, so that the first stage holds both ends.
[[nodiscard]] std::vector<StagePlan> plan_stages(const Scenario& scenario);

/// True when some stage has layers of the class (by index_of(LayerClass)).
[[nodiscard]] bool uses_class(const std::vector<StagePlan>& stages, std::size_t layer_class);
/// The same of every class.
[[nodiscard]] std::array<bool, kLayerClasses> used_classes(const std::vector<StagePlan>& stages);

/// Layers that a stage of `layers` layers recomputes as a whole.  [docs/formulas.md#M3]
[[nodiscard]] int recomputed_layers(const Recompute& recompute, std::size_t stage, int layers);
/// Share of the stage's layers that run again the operations that the recipe recomputes (`Operation::rerun`).
[[nodiscard]] double rerun_share(const Recompute& recompute, const StagePlan& stage);

/// Model chunks per stage that the schedule runs.
[[nodiscard]] constexpr int chunks_per_stage(const Layout& layout) {
  return is_v_shaped(layout.schedule) ? 2 : layout.vpp;
}

}  // namespace hexaplan::costmodel
