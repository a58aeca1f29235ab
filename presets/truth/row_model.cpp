#include "presets/truth/row_model.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "presets/truth/scenario_of_row.h"

namespace hexaplan::presets {

using costmodel::Activation;
using costmodel::AttentionKind;
using costmodel::ModelSpec;
using costmodel::NormKind;
using costmodel::PositionKind;

namespace {

/// What an architecture of the schema means where the row's own columns leave it open.
struct Architecture {
  std::string_view name;
  NormKind norm;
  PositionKind positions;
  Activation activation;
  bool gated;
  bool bias;
  bool tied;
  bool norm_bias;
  bool embedding_norm = false;
};
constexpr Architecture kArchitectures[] = {
    {"llama", NormKind::Rms, PositionKind::Rotary, Activation::Silu, true, false, false, false},
    {"moe-llama", NormKind::Rms, PositionKind::Rotary, Activation::Silu, true, false, false, false},
    {"deepseek", NormKind::Rms, PositionKind::Rotary, Activation::Silu, true, false, false, false},
    {"gpt", NormKind::Layer, PositionKind::Learned, Activation::Gelu, false, true, true, true},
    {"moe-gpt", NormKind::Layer, PositionKind::Learned, Activation::Gelu, false, true, true, true},
    {"bert", NormKind::Layer, PositionKind::Learned, Activation::Gelu, false, true, true, true},
    {"bloom", NormKind::Layer, PositionKind::Alibi, Activation::Gelu, false, true, true, true, true},
    {"mpt", NormKind::Layer, PositionKind::Alibi, Activation::Gelu, false, false, true, false},
};

const Architecture& architecture_of(const TruthRow& row) {
  for (const Architecture& a : kArchitectures) {
    if (a.name == row.arch) return a;
  }
  throw NoScenario{fmt::format("architecture '{}' is not modelled", row.arch)};
}

PositionKind positions_of(const TruthRow& row, const Architecture& a) {
  if (!row.learned_positions) return a.positions;
  if (*row.learned_positions) return PositionKind::Learned;
  return a.positions == PositionKind::Learned ? PositionKind::Rotary : a.positions;
}

void set_attention(const TruthRow& row, const Architecture& a, ModelSpec& model) {
  costmodel::AttentionSpec& attention = model.attention;
  attention.heads = *row.heads;
  attention.kv_heads = row.kv_heads.value_or(*row.heads);
  attention.head_dim = row.head_dim.value_or(*row.hidden / *row.heads);
  attention.v_head_dim = attention.head_dim;
  attention.qkv_bias = attention.output_bias = row.linear_bias.value_or(a.bias);
  if (row.arch != "deepseek") return;
  attention.kind = AttentionKind::Latent;
  attention.kv_heads = *row.heads;
  attention.q_lora_rank = row.q_lora_rank.value_or(0);
  attention.kv_lora_rank = row.kv_lora_rank.value_or(512);  // DeepSeek-V2 and V3
  attention.qk_nope_dim = attention.v_head_dim;
  attention.qk_rope_dim = row.qk_rope_dim.value_or(64);
  attention.head_dim = attention.qk_nope_dim + attention.qk_rope_dim;
}

void set_feed_forward(const TruthRow& row, const Architecture& a, ModelSpec& model) {
  model.mlp = {.ffn = row.dense_ffn.value_or(*row.ffn),
               .gated = row.gated_mlp.value_or(a.gated),
               .bias = row.linear_bias.value_or(a.bias),
               .activation = a.activation};
  if (row.n_experts.value_or(0) <= 1) return;
  const std::int64_t expert_ffn = row.moe_ffn.value_or(*row.ffn);
  model.moe = {.experts = *row.n_experts,
               .top_k = row.top_k.value_or(1),
               .expert_ffn = expert_ffn,
               .shared_ffn = std::llround(row.shared_experts.value_or(0.0) * static_cast<double>(expert_ffn)),
               .router_correction = row.arch == "deepseek",
               .expert_bias = row.linear_bias.value_or(false),
               .first_k_dense = row.first_k_dense.value_or(0)};
}

}  // namespace

ModelSpec model_of(const TruthRow& row) {
  const Architecture& a = architecture_of(row);
  ModelSpec model;
  model.name = row.model_name;
  model.family = row.arch;
  model.layers = *row.layers;
  model.hidden = *row.hidden;
  model.vocab = *row.vocab;
  set_attention(row, a, model);
  set_feed_forward(row, a, model);
  model.norm = a.norm;
  model.norm_bias = a.norm_bias;
  model.embedding_norm = a.embedding_norm;
  model.positions = positions_of(row, a);
  model.max_positions = *row.seq;
  model.tied_embeddings = row.tied_embeddings.value_or(a.tied);
  return model;
}

}  // namespace hexaplan::presets
