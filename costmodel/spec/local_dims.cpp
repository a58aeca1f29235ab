#include "costmodel/spec/local_dims.h"

#include <algorithm>
#include <cmath>

#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

/// Pairs that a causal mask keeps over one sequence: s²/2 (the diagonal's half is dropped, as every published
/// FLOP convention does); a window of w keeps w·(s − w/2).
double causal_pairs(double s, double window) {
  return window > 0 && window < s ? window * (s - window / 2) : s * s / 2;
}
/// The same of windows that begin anew: a triangle each, the last one as large as what is left.
double chunked_pairs(double s, double window) {
  const double whole = std::floor(s / window), rest = s - whole * window;
  return (whole * window * window + rest * rest) / 2;
}

void fill_attention(const Scenario& sc, LocalDims& d) {
  const AttentionSpec& a = sc.model.attention;
  const std::int64_t tp = sc.layout.tp;
  d.heads = ceil_div(a.heads, tp);
  d.kv_heads = std::max<std::int64_t>(1, ceil_div(a.kv_heads, tp));
  d.q = d.heads * a.head_dim;
  d.k = d.kv_heads * a.head_dim;
  d.v = d.kv_heads * a.v_head_dim;
  d.o = d.heads * a.v_head_dim;
  if (a.kind == AttentionKind::Latent) {
    d.q_latent = a.q_lora_rank;
    d.kv_latent = a.kv_lora_rank + a.qk_rope_dim;
    d.kv_latent_normed = a.kv_lora_rank;
  }
  const auto s = static_cast<double>(d.sequence);
  d.attention_pairs = causal_pairs(s, 0) / sc.layout.cp;  // zig-zag: equal shares
  const auto window = static_cast<double>(a.window);
  const bool chunked = a.chunked && a.window > 0;
  d.windowed_pairs = (chunked ? chunked_pairs(s, window) : causal_pairs(s, window)) / sc.layout.cp;
}

/// Heads and groups are cut over tensor-parallel ranks (NVIDIA/Megatron-LM megatron/core/ssm/mamba_mixer.py,
/// gated_delta_net/common.py); the groups' keys are repeated where more context-parallel ranks than groups
/// exchange heads for tokens (mamba_context_parallel.py).
void fill_recurrence(const Scenario& sc, LocalDims& d) {
  const RecurrentSpec& r = sc.model.recurrent;
  if (!sc.model.is_recurrent()) return;
  const std::int64_t tp = sc.layout.tp, cp = sc.layout.cp;
  d.state_heads = ceil_div(r.heads, tp);
  d.state_values = d.state_heads * r.head_dim;
  const std::int64_t groups = ceil_div(r.groups, tp);
  d.state_groups = cp > 1 ? std::max(groups, cp) : groups;
  d.state_keys = d.state_groups * r.state;
  d.state_mixed = mixed_columns(r, d.state_heads, d.state_groups);
  d.state_projected = projected_columns(r, d.state_heads, groups);
  d.state_exchanged = projected_columns(r, d.state_heads, d.state_groups);
  d.chunks = d.micro_batch * ceil_div(d.sequence, r.chunk);
}

void fill_experts(const Scenario& sc, LocalDims& d) {
  const MoeSpec& moe = sc.model.moe;
  if (!sc.model.is_moe()) return;
  const std::int64_t etp = sc.layout.expert_tensor();
  d.experts = moe.experts;
  d.top_k = moe.top_k;
  d.experts_local = ceil_div(moe.experts, sc.layout.ep);
  d.router_tokens = d.sp_tokens;
  // A balanced all-to-all leaves every rank as many token copies as it sent; expert-TP ranks gather each
  // other's. Every rank may send each expert its capacity, and sends it in any case where it pads.
  const MoeRouting& routing = sc.recipe.routing;
  d.expert_capacity = expert_capacity(sc, d.router_tokens);
  const auto limited = [&](std::int64_t copies, std::int64_t senders) {
    const std::int64_t full = senders * moe.experts * std::min(d.expert_capacity, d.router_tokens);
    if (routing.pads()) return full;
    return routing.drops() ? std::min(copies, full) : copies;
  };
  const std::int64_t copies = d.router_tokens * moe.top_k;
  const double busiest = static_cast<double>(copies * etp) * std::max(1.0, routing.imbalance);
  d.sent_copies = limited(copies, 1);
  d.expert_tokens = limited(std::llround(busiest), etp);
  if (!sc.layout.sp && sc.layout.tp > 1) d.expert_tokens /= std::max<std::int64_t>(1, etp);
  d.expert_act = ceil_div(moe.expert_ffn, etp);
  d.expert_up = (sc.model.mlp.gated ? 2 : 1) * d.expert_act;
  d.shared_act = ceil_div(moe.shared_ffn, sc.layout.tp);
  d.shared_up = (sc.model.mlp.gated ? 2 : 1) * d.shared_act;
}

}  // namespace

std::int64_t projected_columns(const RecurrentSpec& r, std::int64_t heads, std::int64_t groups) {
  const std::int64_t values = heads * r.head_dim, keys = groups * r.state;
  switch (r.kind) {
    case RecurrentKind::GatedDeltaNet:  // q, k, v, z; a decay and a write strength of each head
      return 2 * keys + 2 * values + 2 * heads;
    case RecurrentKind::Mamba2:  // z, x, B, C; a step of each head
      return 2 * values + 2 * keys + heads;
    case RecurrentKind::ShortConvolution:  // both gates and what they gate
      return 3 * values;
    case RecurrentKind::Mamba1:  // x, z
      return 2 * values;
    case RecurrentKind::Lightning:  // q, k, v, the gate
      return 2 * keys + 2 * values;
    case RecurrentKind::KimiDelta:  // q, k, v; a write strength of each head; what decays and gates are made
                                    // from
      return 2 * keys + values + heads + 2 * r.rank;
    case RecurrentKind::None:
      break;
  }
  return 0;
}

std::int64_t mixed_columns(const RecurrentSpec& r, std::int64_t heads, std::int64_t groups) {
  const std::int64_t values = heads * r.head_dim;
  return r.kind == RecurrentKind::Mamba1 ? values : values + 2 * groups * r.state;
}

std::int64_t routed_tokens(const Scenario& sc) {
  const std::int64_t tokens = sc.recipe.micro_batch * (sc.recipe.sequence / sc.layout.cp);
  return sc.layout.sp ? ceil_div(tokens, std::int64_t{sc.layout.tp}) : tokens;
}

std::int64_t expert_capacity(const Scenario& sc, std::int64_t tokens) {
  const MoeSpec& moe = sc.model.moe;
  if (!limits_experts(sc)) return 0;
  // In this order, in double precision: the ceiling is that of Megatron-LM's own product.
  const double mean = static_cast<double>(tokens * moe.top_k) / static_cast<double>(moe.experts);
  constexpr double kMost = 0x1p53;  // more than any rank has
  return static_cast<std::int64_t>(std::min(kMost, std::ceil(mean * sc.recipe.routing.capacity_factor)));
}

LocalDims local_dims(const Scenario& sc) {
  LocalDims d;
  d.micro_batch = sc.recipe.micro_batch;
  d.sequence = sc.recipe.sequence;
  d.local_sequence = sc.recipe.sequence / sc.layout.cp;
  d.tokens = d.micro_batch * d.local_sequence;
  d.sp_tokens = routed_tokens(sc);
  d.hidden = sc.model.hidden;
  fill_attention(sc, d);
  fill_recurrence(sc, d);
  d.mlp_act = ceil_div(sc.model.mlp.ffn, sc.layout.tp);
  d.mlp_up = (sc.model.mlp.gated ? 2 : 1) * d.mlp_act;
  fill_experts(sc, d);
  d.vocab = sc.model.outputs > 0
                ? sc.model.outputs
                : padded_vocab(sc.model.vocab, sc.framework.vocab_multiple, sc.layout.tp) / sc.layout.tp;
  return d;
}

}  // namespace hexaplan::costmodel
