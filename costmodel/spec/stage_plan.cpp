#include "costmodel/spec/stage_plan.h"

#include <algorithm>
#include <limits>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

/// `total` units over `chunks`; the remainder goes to the chunks after the first, the last one last.
std::vector<int> split_evenly(std::int64_t total, int chunks) {
  std::vector<int> out(static_cast<std::size_t>(chunks), static_cast<int>(total / chunks));
  const auto remainder = static_cast<std::size_t>(total % chunks);
  for (std::size_t i = 0; i < remainder; ++i)
    ++out[(i + (mutant("remainder-layers-stay-with-the-first") ? 0 : 1)) % out.size()];
  return out;
}

std::vector<int> split_counting_ends(std::int64_t layers, int chunks, int ends) {
  auto out = split_evenly(layers + std::int64_t{2} * ends, chunks);
  out.front() -= ends;
  out.back() -= ends;
  return out;
}

/// Embedding, layers, final norm and head in one list; its remainder goes to the first chunks.
std::vector<int> split_listed(std::int64_t layers, int chunks) {
  constexpr std::int64_t kBefore = 1, kBehind = 2;
  const std::int64_t items = kBefore + layers + kBehind;
  std::vector<int> out;
  std::int64_t first = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t end = first + items / chunks + (chunk < items % chunks ? 1 : 0);
    const std::int64_t from = std::max(first, kBefore), to = std::min(end, kBefore + layers);
    out.push_back(static_cast<int>(std::max<std::int64_t>(0, to - from)));
    first = end;
  }
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

StagePlan& StagePlan::operator+=(const StagePlan& other) {
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    layers[c] += other.layers[c];
    recomputed[c] += other.recomputed[c];
    recomputing[c] += other.recomputing[c];
  }
  embedding += other.embedding;
  head += other.head;
  return *this;
}

int mtp_modules(const Scenario& sc) {
  return sc.framework.abilities.mtp ? sc.model.mtp_layers : 0;
}

bool runs_final_norm_apart(const Scenario& sc) {
  return sc.framework.mtp_norm_apart && mtp_modules(sc) > 0;
}

void add_ends(const Scenario& sc, bool first, bool last, StagePlan& stage) {
  if (first) stage.embedding = 1;
  if (!last) return;
  stage.head = 1;
  stage.layers[kMtpClass] = mtp_modules(sc);
}

std::vector<int> chunk_layers(const Scenario& sc) {
  const int chunks = chunk_positions(sc.layout.schedule, sc.layout.pp, chunks_per_stage(sc.layout));
  const StageSplit split = sc.layout.split == StageSplit::Even ? sc.framework.even_split : sc.layout.split;
  switch (split) {
    case StageSplit::Explicit:
      return sc.layout.stage_layers;
    case StageSplit::ComputeCost:
      return split_by_cost(sc, chunks);
    case StageSplit::EmbeddingCounts:
    case StageSplit::EndsMinusOne:
      return split_counting_ends(sc.model.layers, chunks, 1);
    case StageSplit::ListedModules:
      return split_listed(sc.model.layers, chunks);
    case StageSplit::Even:
      break;
  }
  return split_evenly(sc.model.layers, chunks);
}

std::vector<StagePlan> plan_chunks(const Scenario& sc) {
  const Layout& l = sc.layout;
  const auto per_stage = static_cast<std::size_t>(chunks_per_stage(l));
  const auto counts = chunk_layers(sc);
  const bool spread = l.vocab != VocabParallel::LastStage;
  const double share = 1.0 / (static_cast<double>(l.pp) * static_cast<double>(per_stage));
  std::vector<StagePlan> chunks(static_cast<std::size_t>(l.pp) * per_stage);
  for (int copy = 0; copy < model_copies(l.schedule); ++copy) {
    std::int64_t layer = 0;
    for (std::size_t position = 0; position < counts.size(); ++position) {
      const StageChunk at = chunk_at(l.schedule, l.pp, static_cast<int>(position), copy);
      StagePlan& chunk = chunks[place_in_plan(l, at)];
      chunk.layers = layers_by_class(sc.model, layer, counts[position]);
      add_ends(sc, position == 0, position + 1 == counts.size(), chunk);
      const int recomputed = recomputed_layers(sc.recipe.recompute, static_cast<std::size_t>(at.stage));
      set_recomputed(sc.recipe.recompute,
                     first_layers(sc.model, layer, counts[position], chunk.mtp_modules(), recomputed), chunk);
      layer += counts[position];
      if (spread) chunk.embedding = chunk.head = share;
    }
  }
  return chunks;
}

bool chunks_differ(const Scenario& sc) {
  const auto per_stage = static_cast<std::size_t>(chunks_per_stage(sc.layout));
  if (per_stage == 1) return false;
  const std::vector<StagePlan> chunks = plan_chunks(sc);
  std::vector<StagePlan> stages(chunks.size() / per_stage);
  for (std::size_t i = 0; i < chunks.size(); ++i) stages[i / per_stage] += chunks[i];
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const StagePlan& stage = stages[i / per_stage];
    const int part = chunks[i].total_layers(), whole = stage.total_layers();
    const auto differs = [&](LayersByClass StagePlan::*layers) {
      for (std::size_t c = 0; c < kLayerClasses; ++c)
        if ((chunks[i].*layers)[c] * whole != (stage.*layers)[c] * part) return true;
      return false;
    };
    if (differs(&StagePlan::layers) || differs(&StagePlan::recomputed) || differs(&StagePlan::recomputing))
      return true;
  }
  return false;
}

std::vector<StagePlan> plan_stages(const Scenario& sc) {
  const auto per_stage = static_cast<std::size_t>(chunks_per_stage(sc.layout));
  const auto chunks = plan_chunks(sc);
  std::vector<StagePlan> stages(chunks.size() / per_stage);
  for (std::size_t i = 0; i < chunks.size(); ++i) stages[i / per_stage] += chunks[i];
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StagePlan& stage = stages[s];
    if (sc.layout.vocab != VocabParallel::LastStage) stage.embedding = stage.head = 1.0 / sc.layout.pp;
    stage.copies = model_copies(sc.layout.schedule);
  }
  return stages;
}

std::vector<CrossedChunk> crossed_chunks(const Scenario& sc, int stage) {
  const std::vector<StagePlan> chunks = plan_chunks(sc);
  const int per_stage = chunks_per_stage(sc.layout);
  const auto microbatches = static_cast<int>(microbatches_per_step(sc));
  std::vector<CrossedChunk> crossed;
  for (int c = 0; c < per_stage; ++c) {
    const MicrobatchRange range = microbatches_of_chunk(sc.layout.schedule, microbatches, c);
    crossed.push_back({chunks[place_in_plan(sc.layout, {.stage = stage, .chunk = c})],
                       static_cast<double>(range.end - range.first)});
  }
  return crossed;
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

int recomputed_layers(const Recompute& recompute, std::size_t stage) {
  if (recompute.mode == RecomputeMode::Full) return std::numeric_limits<int>::max();
  if (recompute.mode != RecomputeMode::Layers) return 0;
  return stage < recompute.stage_layers.size() ? recompute.stage_layers[stage] : recompute.layers;
}

LayersByClass first_layers(const ModelSpec& model, std::int64_t first, std::int64_t count, int modules,
                           int recomputed) {
  const std::int64_t of_model = std::min<std::int64_t>(recomputed, count);
  LayersByClass layers = layers_by_class(model, first, of_model);
  layers[kMtpClass] += static_cast<int>(std::min<std::int64_t>(recomputed - of_model, modules));
  return layers;
}

void set_recomputed(const Recompute& recompute, const LayersByClass& first, StagePlan& plan) {
  plan.recomputed = recompute.mode == RecomputeMode::Full     ? plan.layers
                    : recompute.mode == RecomputeMode::Layers ? first
                                                              : LayersByClass{};
  plan.recomputing = recompute.of_layers() ? plan.recomputed : plan.layers;
}

std::vector<std::vector<LayersByClass>> first_layers_of_chunks(const Scenario& sc) {
  const Layout& l = sc.layout;
  const std::vector<int> counts = chunk_layers(sc);
  const std::vector<StagePlan> chunks = plan_chunks(sc);
  std::vector<std::vector<LayersByClass>> first(chunks.size());
  for (int copy = 0; copy < model_copies(l.schedule); ++copy) {
    std::int64_t layer = 0;
    for (std::size_t position = 0; position < counts.size(); ++position) {
      const std::size_t i = place_in_plan(l, chunk_at(l.schedule, l.pp, static_cast<int>(position), copy));
      for (int n = 0; n <= chunks[i].total_layers(); ++n)
        first[i].push_back(first_layers(sc.model, layer, counts[position], chunks[i].mtp_modules(), n));
      layer += counts[position];
    }
  }
  return first;
}

}  // namespace hexaplan::costmodel
