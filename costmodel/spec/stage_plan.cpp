#include "costmodel/spec/stage_plan.h"

#include <algorithm>

#include "costmodel/parameters/parameter_tensors.h"

namespace hexaplan::costmodel {
namespace {

/// `total` units over `chunks`; the remainder goes to the chunks after the first, the last one last.
std::vector<int> split_evenly(std::int64_t total, int chunks) {
  std::vector<int> out(static_cast<std::size_t>(chunks), static_cast<int>(total / chunks));
  const auto remainder = static_cast<std::size_t>(total % chunks);
  for (std::size_t i = 0; i < remainder; ++i) ++out[(i + 1) % out.size()];
  return out;
}

std::vector<int> split_counting_ends(std::int64_t layers, int chunks, int ends) {
  auto out = split_evenly(layers + std::int64_t{2} * ends, chunks);
  out.front() -= ends;
  out.back() -= ends;
  return out;
}

/// nanotron walks the blocks (embedding, layers, final norm, head) and moves to the next rank once the
/// cumulated cost has passed the rank's share; costs are the matrices' parameters, zero for embedding and
/// norm (huggingface/nanotron src/nanotron/models/base.py, models/llama.py get_block_compute_costs).
std::vector<int> split_by_cost(const Scenario& sc, int chunks) {
  const ModelSpec& m = sc.model;
  const auto layer_cost = static_cast<double>(4 * m.attention.heads * m.attention.head_dim * m.hidden +
                                              (m.mlp.gated ? 3 : 2) * m.mlp.ffn * m.hidden);
  const auto head_cost = static_cast<double>(m.vocab * m.hidden);
  const double total = layer_cost * static_cast<double>(m.layers) + head_cost;
  std::vector<int> out(static_cast<std::size_t>(chunks), 0);
  int rank = 0;
  double cumulated = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    ++out[static_cast<std::size_t>(rank)];
    cumulated += layer_cost;
    if (rank + 1 < chunks && cumulated > total * (rank + 1) / chunks) ++rank;
  }
  return out;
}

}  // namespace

std::vector<int> chunk_layers(const Scenario& sc) {
  const int chunks = sc.layout.pp * chunks_per_stage(sc.layout);
  const StageSplit split = sc.layout.split == StageSplit::Even ? sc.framework.even_split : sc.layout.split;
  switch (split) {
    case StageSplit::Explicit:
      return sc.layout.stage_layers;
    case StageSplit::ComputeCost:
      return split_by_cost(sc, chunks);
    case StageSplit::EmbeddingCounts:
    case StageSplit::EndsMinusOne:
      return split_counting_ends(sc.model.layers, chunks, 1);
    case StageSplit::Even:
      break;
  }
  return split_evenly(sc.model.layers, chunks);
}

std::vector<StagePlan> plan_stages(const Scenario& sc) {
  const auto chunks = chunk_layers(sc);
  const auto pp = static_cast<std::size_t>(sc.layout.pp);
  std::vector<StagePlan> stages(pp);
  std::int64_t layer = 0;
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const bool upwards = is_v_shaped(sc.layout.schedule) && chunk >= pp;
    StagePlan& stage = stages[upwards ? chunks.size() - 1 - chunk : chunk % pp];
    for (int i = 0; i < chunks[chunk]; ++i, ++layer) {
      ++stage.layers[static_cast<std::size_t>(index_of(class_of_layer(sc.model, layer)))];
    }
    if (chunk == 0) stage.embedding = 1;
    if (chunk + 1 == chunks.size()) stage.head = 1;
  }
  if (sc.layout.vocab != VocabParallel::LastStage) {
    for (StagePlan& stage : stages) stage.embedding = stage.head = 1.0 / sc.layout.pp;
  }
  for (std::size_t s = 0; s < pp; ++s) {
    stages[s].recomputed = recomputed_layers(sc.recipe.recompute, s, stages[s].total_layers());
  }
  return stages;
}

bool uses_class(const std::vector<StagePlan>& stages, std::size_t layer_class) {
  return std::any_of(stages.begin(), stages.end(),
                     [&](const StagePlan& stage) { return stage.layers[layer_class] > 0; });
}

std::array<bool, kLayerClasses> used_classes(const std::vector<StagePlan>& stages) {
  std::array<bool, kLayerClasses> used{};
  for (std::size_t c = 0; c < kLayerClasses; ++c) used[c] = uses_class(stages, c);
  return used;
}

int recomputed_layers(const Recompute& recompute, std::size_t stage, int layers) {
  if (recompute.mode == RecomputeMode::Full) return layers;
  if (recompute.mode != RecomputeMode::Layers) return 0;
  const int wanted = stage < recompute.stage_layers.size() ? recompute.stage_layers[stage] : recompute.layers;
  return std::min(wanted, layers);
}

double rerun_share(const Recompute& recompute, const StagePlan& stage) {
  if (recompute.mode != RecomputeMode::Layers || stage.total_layers() == 0) return 1;
  return static_cast<double>(stage.recomputed) / stage.total_layers();
}

}  // namespace hexaplan::costmodel
