#include "validator/step/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::validator {
namespace {

using costmodel::ceil_div;
using costmodel::Layout;
using costmodel::Scenario;

std::int64_t up_to_multiple(std::int64_t n, std::int64_t of) {
  return ceil_div(std::max<std::int64_t>(n, 1), of) * of;
}

/// Divides heads and kv heads by the largest common factor that leaves both as they are to tp: cut or
/// replicated.
void shrink_heads(costmodel::AttentionSpec& a, std::int64_t tp) {
  constexpr std::int64_t kHeadDim = 4;
  for (std::int64_t factor = std::gcd(a.heads, a.kv_heads); factor > 1; --factor) {
    if (a.heads % factor != 0 || a.kv_heads % factor != 0) continue;
    const std::int64_t heads = a.heads / factor, kv = a.kv_heads / factor;
    const bool cut = kv % tp == 0, replicated = tp % kv == 0;
    if (heads % tp != 0 || (a.kv_heads % tp == 0 ? !cut : !replicated)) continue;
    if ((a.kv_heads > 1) != (kv > 1)) continue;  // multi-query attention is something else
    a.heads = heads;
    a.kv_heads = kv;
    break;
  }
  a.head_dim = a.v_head_dim = std::min(a.head_dim, kHeadDim);
}

/// As many layers as make every model chunk one layer, what does not divide evenly on top.
void shrink_layers(Scenario& sc) {
  const std::int64_t chunks = std::int64_t{sc.layout.pp} * costmodel::chunks_per_stage(sc.layout);
  if (sc.layout.split == costmodel::StageSplit::Explicit) return;
  const std::int64_t dense =
      sc.model.moe.experts > 0 ? std::min<std::int64_t>(sc.model.moe.first_k_dense, 1) : 0;
  const std::int64_t period = sc.model.is_moe() ? sc.model.moe.period : 1;
  const std::int64_t least = std::max(chunks + sc.model.layers % chunks, dense + period);
  sc.model.layers = std::min(sc.model.layers, least);
  sc.model.moe.first_k_dense = dense;
  std::erase_if(sc.model.moe.dense_layers, [&](int layer) { return layer >= sc.model.layers; });
}

void shrink_model(Scenario& sc) {
  costmodel::ModelSpec& m = sc.model;
  const Layout& l = sc.layout;
  const double width = static_cast<double>(m.hidden);
  shrink_heads(m.attention, l.tp);
  m.hidden = std::min(m.hidden, m.attention.heads * m.attention.head_dim);
  const auto scaled = [&](std::int64_t size, std::int64_t multiple) {
    if (size == 0) return size;
    const double ratio = static_cast<double>(size) / width;
    const auto wanted = static_cast<std::int64_t>(std::llround(ratio * static_cast<double>(m.hidden)));
    return std::min(size, up_to_multiple(wanted, multiple));
  };
  m.mlp.ffn = scaled(m.mlp.ffn, l.tp);
  m.moe.expert_ffn = scaled(m.moe.expert_ffn, l.expert_tensor());
  m.moe.shared_ffn = scaled(m.moe.shared_ffn, l.tp);
  if (m.is_moe()) m.moe.experts = std::min(m.moe.experts, up_to_multiple(m.moe.top_k * 2, l.ep));
  constexpr std::int64_t kWordsPerRank = 9;
  m.vocab = std::min(m.vocab, kWordsPerRank * l.tp - 2);  // does not divide: padded, as real ones are
  shrink_layers(sc);
}

/// The fewest replicas that leave the layout what it is: experts and shards still find their ranks.
void shrink_replicas(Scenario& sc, std::int64_t most_ranks) {
  const std::int64_t model_ranks = sc.layout.world_size() / sc.layout.dp;
  const int dp = sc.layout.dp;
  if (sc.layout.world_size() <= most_ranks) return;
  for (int fewer = 1; fewer < dp; ++fewer) {
    Scenario candidate = sc;
    candidate.layout.dp = fewer;
    candidate.cluster.gpus = candidate.layout.world_size();
    candidate.recipe.global_batch = candidate.recipe.micro_batch * fewer;
    const bool replicated_enough = fewer >= std::min(dp, 2) || model_ranks * 2 > most_ranks;
    if (!replicated_enough || costmodel::first_rejection(candidate)) continue;
    sc.layout.dp = fewer;
    return;
  }
}

void shrink_batch(Scenario& sc, std::int64_t microbatches) {
  const Layout& l = sc.layout;
  std::int64_t piece = 2 * l.cp * l.tp;
  if (sc.model.is_moe()) piece *= sc.model.moe.experts / std::gcd(sc.model.moe.experts, sc.model.moe.top_k);
  sc.recipe.sequence = std::min(sc.recipe.sequence, std::max<std::int64_t>(piece, 8));
  sc.recipe.micro_batch = std::min<std::int64_t>(sc.recipe.micro_batch, 2);
  const std::int64_t round = std::int64_t{l.pp};
  const std::int64_t kept = microbatches <= 2 * round ? microbatches : 2 * round + (microbatches % round);
  sc.recipe.global_batch = kept * sc.recipe.micro_batch * l.dp;
}

void note(std::string_view what, std::int64_t before, std::int64_t after, std::vector<std::string>& changes) {
  if (before != after) changes.push_back(fmt::format("{} {} → {}", what, before, after));
}

}  // namespace

Shrunk shrink(const Scenario& before, std::int64_t most_ranks) {
  Shrunk out{.scenario = before, .changes = {}};
  Scenario& after = out.scenario;
  const std::int64_t microbatches = costmodel::microbatches_per_step(before);
  shrink_model(after);
  shrink_replicas(after, most_ranks);
  after.cluster.gpus = after.layout.world_size();
  shrink_batch(after, microbatches);
  note("dp", before.layout.dp, after.layout.dp, out.changes);
  note("layers", before.model.layers, after.model.layers, out.changes);
  note("hidden", before.model.hidden, after.model.hidden, out.changes);
  note("heads", before.model.attention.heads, after.model.attention.heads, out.changes);
  note("kv heads", before.model.attention.kv_heads, after.model.attention.kv_heads, out.changes);
  note("head dim", before.model.attention.head_dim, after.model.attention.head_dim, out.changes);
  note("ffn", before.model.mlp.ffn, after.model.mlp.ffn, out.changes);
  note("experts", before.model.moe.experts, after.model.moe.experts, out.changes);
  note("expert ffn", before.model.moe.expert_ffn, after.model.moe.expert_ffn, out.changes);
  note("shared ffn", before.model.moe.shared_ffn, after.model.moe.shared_ffn, out.changes);
  note("vocab", before.model.vocab, after.model.vocab, out.changes);
  note("sequence", before.recipe.sequence, after.recipe.sequence, out.changes);
  note("micro-batch", before.recipe.micro_batch, after.recipe.micro_batch, out.changes);
  note("global batch", before.recipe.global_batch, after.recipe.global_batch, out.changes);
  return out;
}

}  // namespace hexaplan::validator
