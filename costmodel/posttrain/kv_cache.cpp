#include "costmodel/posttrain/kv_cache.h"

#include <algorithm>

#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

/// Of all layers together.
double cached_tokens(const ModelSpec& model, double tokens) {
  double sum = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const bool windowed = class_of_layer(model, layer).windowed;
    sum += windowed ? std::min(tokens, static_cast<double>(model.attention.window)) : tokens;
  }
  return sum;
}

/// Elements of one token in one layer.
double cached_elements(const AttentionSpec& a, int tp) {
  if (a.kind == AttentionKind::Latent) return static_cast<double>(a.kv_lora_rank + a.qk_rope_dim);
  const std::int64_t heads = std::max<std::int64_t>(1, ceil_div(a.kv_heads, tp));
  return static_cast<double>(heads * (a.head_dim + a.v_head_dim));
}

/// Multiply-adds of one query token per token in the cache: MLA attends in its latent space
/// (arXiv:2405.04434 §2.1.2).
double multiply_adds(const AttentionSpec& a, int tp) {
  const std::int64_t widths =
      a.kind == AttentionKind::Latent ? 2 * a.kv_lora_rank + a.qk_rope_dim : a.head_dim + a.v_head_dim;
  return static_cast<double>(ceil_div(a.heads, tp) * widths);
}

}  // namespace

Bytes cache_of_sequence(const ModelSpec& model, DType type, int tp, double tokens) {
  return Bytes{cached_tokens(model, tokens) * cached_elements(model.attention, tp) * bytes_per_element(type)};
}

Flops cached_attention_flops(const ModelSpec& model, int tp, double tokens) {
  return Flops{2 * cached_tokens(model, tokens) * multiply_adds(model.attention, tp)};
}

}  // namespace hexaplan::costmodel
