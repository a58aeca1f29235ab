#include "presets/models/gpt_families.h"

#include <fmt/format.h>

#include "presets/models/family_rules.h"

// Defaults and rules: as in model_families.cpp.
namespace hexaplan::presets {
namespace {

using costmodel::ModelSpec;
using costmodel::PositionKind;

constexpr Key kEmbeddingWidth{"word_embed_proj_dim"};

enum class MptHeads : std::uint8_t { One, All, Some };
constexpr Named<MptHeads> kMptHeads[] = {{"multihead_attention", MptHeads::All},
                                         {"multiquery_attention", MptHeads::One},
                                         {"grouped_query_attention", MptHeads::Some}};

void read_mpt_attention(ConfigFields& f, ModelSpec& m) {
  if (const auto type = f.value({"attn_type"})) {
    const MptHeads heads = type->choice(kMptHeads);
    m.attention.kv_heads = heads == MptHeads::One ? 1 : m.attention.heads;
    if (heads == MptHeads::Some) {
      m.attention.kv_heads = f.required({"kv_n_heads"});
    }
    if (m.attention.heads % m.attention.kv_heads != 0) {
      throw f.error({"kv_n_heads"}, 0, fmt::format("a divisor of {} (n_heads)", m.attention.heads));
    }
  }
  if (const auto norm = f.value({"qk_ln"}); norm && norm->boolean()) {
    throw norm->error("false: norms over all query heads together are not modelled");
  }
  m.attention.value_clip = f.number({"clip_qkv"}, 0, kCoefficient);
  set_score_scale(m, f.number({"softmax_scale"}, 0, kCoefficient));
  if (f.flag({"alibi"}, true)) {
    m.positions = PositionKind::Alibi;
  }
}

}  // namespace

void gpt2(ConfigFields&, ModelSpec& m) {
  m.positions = PositionKind::Learned;
}

void gpt_neox(ConfigFields& f, ModelSpec& m) {
  m.rotary.share = 0.25;
  m.parallel_residual = f.flag({"use_parallel_residual"}, true);
  set_attention_bias(m, f.flag({"attention_bias"}, true));
}

void bloom(ConfigFields&, ModelSpec& m) {
  m.positions = PositionKind::Alibi;
  m.embedding_norm = true;
}

void opt(ConfigFields& f, ModelSpec& m) {
  const std::int64_t projection = f.integer(kEmbeddingWidth, m.hidden);
  if (projection != 0 && projection != m.hidden) {
    throw f.error(kEmbeddingWidth, projection,
                  fmt::format("{} (hidden_size): projected embeddings are not modelled", m.hidden));
  }
  m.positions = PositionKind::Learned;
  m.position_offset = 2;  // OPTLearnedPositionalEmbedding.offset
  m.max_positions += m.position_offset;
  const bool bias = f.flag({"enable_bias"}, true);
  set_attention_bias(m, bias);
  m.mlp.bias = bias;
  m.norm_weight = m.norm_bias = f.flag({"layer_norm_elementwise_affine"}, true);
  m.norms_after = !f.flag({"do_layer_norm_before"}, true);
  m.final_norm = !m.norms_after && !f.flag({"_remove_final_layer_norm"}, false);
}

/// Biases go together: mosaicml/llm-foundry drops those of the norms, too, under no_bias.
void mpt(ConfigFields& f, ModelSpec& m) {
  m.mlp.ffn = f.size({"expansion_ratio"}, 4, {1, 1'000}) * m.hidden;
  m.positions = f.flag({"learned_pos_emb"}, true) ? PositionKind::Learned : PositionKind::None;
  if (const auto attention = f.value({"attn_config"})) {
    static_cast<void>(attention->object());  // InputError unless it is one
    ConfigFields inner{attention->file(), attention->pointer(), *attention->json().get_if<JsonObject>()};
    read_mpt_attention(inner, m);
  } else {
    m.positions = PositionKind::Alibi;
  }
  const bool bias = !f.flag({"no_bias"}, true);
  set_attention_bias(m, bias);
  m.mlp.bias = m.norm_bias = bias;
}

/// Rotates neighbouring columns; attention and MLP read one norm's output.
void gptj(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, false);
  m.parallel_residual = m.head_bias = true;
  m.norms_per_layer = 1;
  m.rotary.interleaved = true;
  const std::int64_t rotated = f.size({"rotary_dim"}, 64);
  if (rotated > m.attention.head_dim)
    throw f.error({"rotary_dim"}, rotated,
                  fmt::format("at most {}, the width of a head", m.attention.head_dim));
  m.rotary.share = static_cast<double>(rotated) / static_cast<double>(m.attention.head_dim);
}

void gpt_bigcode(ConfigFields& f, ModelSpec& m) {
  m.positions = PositionKind::Learned;
  if (f.flag({"multi_query"}, true)) m.attention.kv_heads = 1;
}

void phi(ConfigFields& f, ModelSpec& m) {
  m.attention.qk_norm = f.flag({"qk_layernorm"}, false);
  m.attention.qk_norm_kind = costmodel::NormKind::Layer;
  m.attention.qk_norm_bias = true;
  m.parallel_residual = m.head_bias = true;
  m.norms_per_layer = 1;
  m.rotary.share = 0.5;
}

void starcoder2(ConfigFields& f, ModelSpec& m) {
  const bool bias = f.flag({"use_bias"}, true);
  set_attention_bias(m, bias);
  m.mlp.bias = bias;
  m.attention.window = f.integer({"sliding_window"}, 0);
}

/// Two architectures: one norm and one key-value head (7B), or two norms and several (40B, 180B).
void falcon(ConfigFields& f, ModelSpec& m) {
  if (const auto alibi = f.value({"alibi"}); alibi && alibi->boolean())
    throw alibi->error("false: ALiBi that is divided by the width of a head is not modelled");
  const bool bias = f.flag({"bias"}, false), grouped = f.flag({"new_decoder_architecture"}, false);
  set_attention_bias(m, bias);
  m.mlp.bias = bias;
  m.parallel_residual = grouped || f.flag({"parallel_attn"}, true);
  const std::int64_t norms = f.size({"num_ln_in_parallel_attn"}, grouped ? 2 : 1, {1, 2});
  m.norms_per_layer = m.parallel_residual ? static_cast<int>(grouped ? norms : 1) : 2;
  const bool one_head = !grouped && f.flag({"multi_query"}, true);
  m.attention.kv_heads = one_head ? 1 : f.size({"num_kv_heads"}, m.attention.heads);
  if (m.attention.heads % m.attention.kv_heads != 0)
    throw f.error({"num_kv_heads"}, m.attention.kv_heads, fmt::format("a divisor of {}", m.attention.heads));
}

}  // namespace hexaplan::presets
