#include "validator/executor/step/shrink.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::validator {
namespace {

using costmodel::Layout;
using costmodel::ModelSpec;
using costmodel::Scenario;

/// About value·to/from, as a multiple of `unit`, at least one unit.
std::int64_t scaled(std::int64_t value, std::int64_t from, std::int64_t to, std::int64_t unit) {
  const double exact = static_cast<double>(value) * static_cast<double>(to) / static_cast<double>(from);
  return std::max<std::int64_t>(1, std::llround(exact / static_cast<double>(unit))) * unit;
}

/// Width of a small head: of rotary positions an even number of columns turns.
std::int64_t small_head_dim(const ModelSpec& m) {
  constexpr std::int64_t kUnit = 4;
  std::int64_t width = kUnit;
  const auto turned = [&] { return static_cast<std::int64_t>(static_cast<double>(width) * m.rotary.share); };
  while (m.positions == costmodel::PositionKind::Rotary && (turned() < 2 || turned() % 2 != 0))
    width += kUnit;
  return width;
}

/// Ranks of latent attention, and a head of columns without and with positions.
void shrink_latents(costmodel::AttentionSpec& a) {
  constexpr std::int64_t kRank = 8, kColumns = 4;
  a.kv_heads = a.heads;
  a.q_lora_rank = a.q_lora_rank > 0 ? kRank : 0;
  a.kv_lora_rank = kRank;
  a.qk_nope_dim = a.qk_rope_dim = a.v_head_dim = kColumns;
  a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
}

/// As many factors as pairs of columns that turn.
void shrink_rotary(ModelSpec& m) {
  const std::int64_t width =
      m.attention.kind == costmodel::AttentionKind::Latent ? m.attention.qk_rope_dim : m.attention.head_dim;
  const auto pairs = static_cast<std::size_t>(static_cast<double>(width) * m.rotary.share) / 2;
  for (std::vector<double>* factors : {&m.rotary.short_factors, &m.rotary.long_factors})
    if (factors->size() > pairs) factors->resize(pairs);
}

void shrink_attention(ModelSpec& m, const Layout& l) {
  costmodel::AttentionSpec& a = m.attention;
  if (a.heads == 0) return;  // no layer attends
  const std::int64_t group = a.heads / a.kv_heads;
  const std::int64_t per_rank =
      l.cp > 1 && l.context == costmodel::ContextKind::AllToAll ? l.cp : 1;  // heads that Ulysses deals out
  const std::int64_t head_dim = small_head_dim(m);
  const std::int64_t old_width = a.heads * a.head_dim;
  if (a.kv_heads >= l.tp) {
    a.kv_heads = l.tp * per_rank;
    a.heads = a.kv_heads * std::min<std::int64_t>(group, 4);
  } else {
    a.heads = l.tp * std::min<std::int64_t>(a.heads / l.tp, 2) * per_rank;
  }
  a.head_dim = a.v_head_dim = head_dim;
  if (a.kind == costmodel::AttentionKind::Latent) shrink_latents(a);
  shrink_rotary(m);
  const std::int64_t hidden = m.hidden;
  // Ranks share the columns of a multi-token-prediction module's projection.
  const std::int64_t unit = m.mtp_layers > 0 ? std::lcm(std::int64_t{4}, std::int64_t{l.tp}) : 4;
  m.hidden = scaled(hidden, old_width, a.heads * a.head_dim, unit);
  m.mlp.ffn = m.mlp.ffn > 0 ? scaled(m.mlp.ffn, hidden, m.hidden, l.tp) : 0;
  if (m.is_moe()) {
    m.moe.expert_ffn = scaled(m.moe.expert_ffn, hidden, m.hidden, l.expert_tensor());
    if (m.moe.shared_ffn > 0) m.moe.shared_ffn = scaled(m.moe.shared_ffn, hidden, m.hidden, l.tp);
  }
}

void shrink_experts(ModelSpec& m, const Layout& l) {
  if (!m.is_moe()) return;
  m.moe.experts = l.ep * std::min<std::int64_t>(m.moe.experts / l.ep, l.ep == 1 ? 8 : 2);
  m.moe.groups = std::gcd(m.moe.groups, m.moe.experts);
  m.moe.top_groups = std::min(m.moe.top_groups, m.moe.groups);
  const std::int64_t reachable = m.moe.experts / m.moe.groups * m.moe.top_groups;
  m.moe.top_k = std::min({m.moe.top_k, reachable, std::int64_t{4}});
}

/// At most two layers a chunk, the remainder of the split as it was.
void shrink_layers(Scenario& sc, std::int64_t old_chunk_layers) {
  ModelSpec& m = sc.model;
  Layout& l = sc.layout;
  const int chunks = costmodel::chunk_positions(l.schedule, l.pp, costmodel::chunks_per_stage(l));
  constexpr int kPerChunk = 2;
  if (l.split == costmodel::StageSplit::Explicit) {
    for (int& layers : l.stage_layers) layers = std::min(layers, kPerChunk + 1);
    m.layers = std::accumulate(l.stage_layers.begin(), l.stage_layers.end(), std::int64_t{0});
  } else {
    const bool ends_count =
        l.split == costmodel::StageSplit::EndsMinusOne || l.split == costmodel::StageSplit::EmbeddingCounts;
    const std::int64_t ends = ends_count ? 2 : 0;
    m.layers = std::min(m.layers, (m.layers + ends) % chunks + std::int64_t{kPerChunk} * chunks - ends);
  }
  m.moe.first_k_dense = std::min(m.moe.first_k_dense, std::max<std::int64_t>(1, m.layers / 2));
  const auto gone = [&](int layer) { return layer >= m.layers; };
  std::erase_if(m.moe.dense_layers, gone);
  std::erase_if(m.attention.global_layers, gone);
  // Some layers recomputed, some not, stays so.
  const std::int64_t chunk_layers = costmodel::ceil_div(m.layers, chunks);
  const auto fewer = [&](int& layers) {
    if (layers > 0)
      layers = static_cast<int>(
          std::clamp<std::int64_t>(layers * chunk_layers / old_chunk_layers, 1, chunk_layers));
  };
  fewer(sc.recipe.recompute.layers);
  for (int& layers : sc.recipe.recompute.stage_layers) fewer(layers);
}

void shrink_batch(Scenario& sc, std::int64_t microbatches) {
  const Layout& l = sc.layout;
  const bool ring = l.cp > 1 && l.context == costmodel::ContextKind::Ring;
  const std::int64_t unit = std::int64_t{l.cp} * (ring ? 2 : 1) * (l.sp ? l.tp : 1);
  sc.recipe.sequence = std::min(sc.recipe.sequence, costmodel::ceil_div(std::int64_t{8}, unit) * unit);
  sc.recipe.micro_batch = std::min<std::int64_t>(sc.recipe.micro_batch, 2);
  const std::int64_t enough = std::max<std::int64_t>(2, std::int64_t{2} * l.pp) + microbatches % l.pp;
  sc.recipe.global_batch = std::min(microbatches, enough) * sc.recipe.micro_batch * l.batch_ranks();
}

/// Fewer dimensions than few tokens give a gradient: the others would follow rounding.
void shrink_subspaces(costmodel::Recipe& recipe) {
  constexpr std::int64_t kRank = 2;
  // Roots are made in a step that is run.
  if (costmodel::traits_of(recipe.optimizer).preconditions()) recipe.precondition_frequency = 1;
  if (!costmodel::traits_of(recipe.optimizer).projects()) return;
  recipe.projection_rank = std::min(costmodel::asked_projection_rank(recipe), kRank);
}

/// The largest divisor of dp that leaves few enough ranks, or the smallest that the rules accept.
Scenario with_fewer_replicas(const Scenario& sc, std::int64_t most_ranks, std::int64_t microbatches) {
  const std::int64_t others = sc.layout.world_size() / sc.layout.dp;
  Scenario smallest = sc;
  for (int dp = sc.layout.dp; dp >= 1; --dp) {
    if (sc.layout.dp % dp != 0) continue;
    Scenario candidate = sc;
    candidate.layout.dp = dp;
    candidate.cluster.gpus = static_cast<decltype(candidate.cluster.gpus)>(candidate.layout.world_size());
    // As many shard groups beside each other as there were, two if that is too many.
    int& group = candidate.layout.sharding.group;
    const int replicas = dp * candidate.layout.cp;
    if (group >= replicas && sc.layout.shard_ranks() < sc.layout.dp * sc.layout.cp && replicas % 2 == 0)
      group = replicas / 2;
    shrink_batch(candidate, microbatches);
    if (costmodel::first_rejection(candidate)) continue;
    smallest = candidate;
    if (dp * others <= most_ranks) break;
  }
  return smallest;
}

}  // namespace

Scenario shrink(const Scenario& scenario, std::int64_t most_ranks) {
  Scenario sc = scenario;
  const std::int64_t microbatches = costmodel::microbatches_per_step(sc);
  const Layout& layout = sc.layout;
  const int chunks =
      costmodel::chunk_positions(layout.schedule, layout.pp, costmodel::chunks_per_stage(layout));
  const std::int64_t chunk_layers = costmodel::ceil_div(sc.model.layers, chunks);
  shrink_experts(sc.model, sc.layout);
  shrink_attention(sc.model, sc.layout);
  shrink_layers(sc, chunk_layers);
  shrink_subspaces(sc.recipe);
  constexpr std::int64_t kOuterSteps = 2;
  sc.recipe.outer.every = std::min(sc.recipe.outer.every, kOuterSteps);
  sc.model.attention.window =
      std::min(sc.model.attention.window, std::int64_t{4});  // shorter than a sequence
  const std::int64_t rows = std::int64_t{sc.layout.tp} * sc.framework.vocab_multiple;
  sc.model.vocab = std::min(sc.model.vocab, costmodel::ceil_div(std::int64_t{32}, rows) * rows -
                                                (sc.model.vocab % rows != 0 ? 1 : 0));
  return with_fewer_replicas(sc, most_ranks, microbatches);
}

}  // namespace hexaplan::validator
