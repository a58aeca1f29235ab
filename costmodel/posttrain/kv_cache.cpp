#include "costmodel/posttrain/kv_cache.h"

#include <algorithm>

#include "costmodel/spec/local_dims.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

/// Of all layers together.
double cached_tokens(const ModelSpec& model, double tokens) {
  double sum = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerClass kind = class_of_layer(model, layer);
    if (!class_attends(model, kind)) continue;
    sum += kind.windowed ? std::min(tokens, static_cast<double>(model.attention.window)) : tokens;
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

/// Of all layers together: the state in fp32, as its kernels hand it on, and the tokens that the convolution
/// sees beside the next one (mamba_ssm_cache_dtype of Nemotron-H's config.json; vllm-project/vllm
/// vllm/model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator).
Bytes states_of_sequence(const ModelSpec& model, DType type, int tp) {
  if (!model.is_recurrent()) return {};
  const RecurrentSpec& r = model.recurrent;
  const auto heads = static_cast<double>(ceil_div(r.heads, tp)), width = static_cast<double>(r.head_dim);
  const double state = heads * width * static_cast<double>(r.state) * bytes_per_element(DType::Fp32);
  const std::int64_t mixed = mixed_columns(r, ceil_div(r.heads, tp), ceil_div(r.groups, tp));
  const double before = static_cast<double>((r.kernel - 1) * mixed) * bytes_per_element(type);
  double layers = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    layers += class_of_layer(model, layer).recurrent ? 1 : 0;
  return Bytes{layers * (state + before)};
}

}  // namespace

Bytes cache_of_sequence(const ModelSpec& model, DType type, int tp, double tokens) {
  const double keys =
      cached_tokens(model, tokens) * cached_elements(model.attention, tp) * bytes_per_element(type);
  return Bytes{keys} + states_of_sequence(model, type, tp);
}

Flops cached_attention_flops(const ModelSpec& model, int tp, double tokens) {
  return Flops{2 * cached_tokens(model, tokens) * multiply_adds(model.attention, tp)};
}

}  // namespace hexaplan::costmodel
