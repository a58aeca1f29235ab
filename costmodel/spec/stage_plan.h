#pragma once
#include <cstddef>
#include <numeric>
#include <vector>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What one pipeline stage, or one model chunk of it, holds.
struct StagePlan {
  LayersByClass layers{};
  LayersByClass recomputed{};   // of them, those that keep their input alone and run their forward again
  LayersByClass recomputing{};  // … that run again what the recipe recomputes, their forward or parts of it
  double embedding = 0;         // share of the embedding held: 1, or 1/pp under vocabulary parallelism
  double head = 0;
  int copies = 1;  // of the model that these are parts of: a micro-batch crosses one of them
  friend bool operator==(const StagePlan&, const StagePlan&) = default;
  /// Multi-token-prediction modules included: each has a layer.
  [[nodiscard]] int total_layers() const { return std::accumulate(layers.begin(), layers.end(), 0); }
  [[nodiscard]] int total_recomputed() const {
    return std::accumulate(recomputed.begin(), recomputed.end(), 0);
  }
  /// Share of a class's layers that run again what the recipe recomputes (`Operation::recomputed`).
  [[nodiscard]] double recomputed_share(std::size_t layer_class) const {
    return layers[layer_class] > 0 ? static_cast<double>(recomputing[layer_class]) / layers[layer_class] : 0;
  }
  [[nodiscard]] int mtp_modules() const { return layers[kMtpClass]; }
  StagePlan& operator+=(const StagePlan& other);
};

/// Multi-token-prediction modules that are trained: the model's, where the framework has them.
[[nodiscard]] int mtp_modules(const Scenario& scenario);
/// True where the final norm is a program of its own between the last layer and the output layer, because
/// multi-token-prediction modules read what it makes: in the executor's step. Other profiles keep what their
/// output layers read by rules.
[[nodiscard]] bool runs_final_norm_apart(const Scenario& scenario);
/// The model's ends join `stage`: the embedding where it is the first; output layer, loss and
/// multi-token-prediction modules where it is the last.
void add_ends(const Scenario& scenario, bool first, bool last, StagePlan& stage);

/// Layers of every model chunk in model order (pp·vpp entries; pp for DualPipe).  [docs/formulas.md#S2]
[[nodiscard]] std::vector<int> chunk_layers(const Scenario& scenario);

/// Model chunks per stage that the schedule runs.
[[nodiscard]] constexpr int chunks_per_stage(const Layout& layout) {
  return chunks_per_stage(layout.schedule, layout.vpp);
}
/// Index of a chunk in plan_chunks: stage by stage.
[[nodiscard]] constexpr std::size_t place_in_plan(const Layout& layout, StageChunk at) {
  return static_cast<std::size_t>(at.stage) * static_cast<std::size_t>(chunks_per_stage(layout)) +
         static_cast<std::size_t>(at.chunk);
}

/// Stages in rank order, all their chunks together.
[[nodiscard]] std::vector<StagePlan> plan_stages(const Scenario& scenario);
/// Every chunk of every stage, at its `place_in_plan`; which part of the model that is says `chunk_position`
/// (costmodel/spec/chunk_order.h).
[[nodiscard]] std::vector<StagePlan> plan_chunks(const Scenario& scenario);

/// True where chunks of a stage have layers of other classes, or recompute another share of them, than the
/// stage: what it keeps then depends on which of them have micro-batches in flight. A chunk with more or
/// fewer of the same does not matter: micro-batches in flight are counted in layers (microbatches_in_flight).
[[nodiscard]] bool chunks_differ(const Scenario& scenario);

/// A chunk of a stage, and the micro-batches of a step that cross it: all, or those of its copy of the model.
struct CrossedChunk {
  StagePlan plan;
  double microbatches = 0;
};
[[nodiscard]] std::vector<CrossedChunk> crossed_chunks(const Scenario& scenario, int stage);

/// True when some stage has layers of the class (by index_of(LayerClass)).
[[nodiscard]] bool uses_class(const std::vector<StagePlan>& stages, std::size_t layer_class);
/// The same of every class.
[[nodiscard]] std::array<bool, kLayerClasses> used_classes(const std::vector<StagePlan>& stages);

/// Layers that each chunk of a stage recomputes as a whole, if it has that many; the largest int for all of
/// them.  [docs/formulas.md#M3]
[[nodiscard]] int recomputed_layers(const Recompute& recompute, std::size_t stage);
/// The first `recomputed` of a chunk's layers, by class: those of the model's layers [first, first + count),
/// then its multi-token-prediction modules.
[[nodiscard]] LayersByClass first_layers(const ModelSpec& model, std::int64_t first, std::int64_t count,
                                         int modules, int recomputed);
/// Sets `recomputed` and `recomputing` as the recipe says; `first`: the layers that RecomputeMode::Layers
/// means.
void set_recomputed(const Recompute& recompute, const LayersByClass& first, StagePlan& plan);
/// By chunk, as plan_chunks has them: [n] is what the chunk's first n layers are.
[[nodiscard]] std::vector<std::vector<LayersByClass>> first_layers_of_chunks(const Scenario& scenario);

}  // namespace hexaplan::costmodel
