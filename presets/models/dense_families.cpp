#include "presets/models/dense_families.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "presets/models/family_rules.h"

// Defaults and rules: as in model_families.cpp.
namespace hexaplan::presets {
namespace {

using costmodel::ModelSpec;
using costmodel::NormKind;
using costmodel::PositionKind;
using costmodel::QkNormScope;

constexpr const char* kNormsBehindRotation = "norms of queries and keys behind their rotation";

void read_llama_biases(ConfigFields& f, ModelSpec& m, bool absent = false) {
  set_attention_bias(m, f.flag({"attention_bias"}, absent));
  m.mlp.bias = f.flag({"mlp_bias"}, absent);
}

void set_llama3_scaling(ModelSpec& m, double factor) {
  m.rotary.scaling = costmodel::RopeScaling::Llama3;
  m.rotary.factor = factor;
  m.rotary.original_positions = 8192;
}

double root_of_hidden(const ModelSpec& m) {
  return std::sqrt(static_cast<double>(m.hidden));
}

}  // namespace

void set_row_norms(ModelSpec& m) {
  m.attention.qk_norm = true;
  m.attention.qk_norm_scope = QkNormScope::Row;
}

void arcee(ConfigFields& f, ModelSpec& m) {
  read_llama_biases(f, m);
  m.mlp.gated = false;
}

void apertus(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.mlp.gated = false;
  m.attention.qk_norm = true;
  set_llama3_scaling(m, 8);
}

void smollm3(ConfigFields& f, ModelSpec& m) {
  read_llama_biases(f, m);
  read_unrotated(f, m);
  if (!f.flag({"use_sliding_window"}, false)) return;
  const std::int64_t window = f.integer(kWindow, 0, {0, kSize.high});
  if (window > 0) read_windows(f, m, window, [&](std::int64_t i) { return class_of_layer(m, i).unrotated; });
}

void read_granite_multipliers(ConfigFields& f, ModelSpec& m, double score_scale) {
  constexpr RealRange kDivisor{1e-6, 1e6};
  m.embedding_multiplier = f.number({"embedding_multiplier"}, 1, kDivisor);
  m.residual_multiplier = f.number({"residual_multiplier"}, 1, kDivisor);
  m.logit_multiplier = 1 / f.number({"logits_scaling"}, 1, kDivisor);
  set_score_scale(m, f.number({"attention_multiplier"}, score_scale, kDivisor));
}

void granite(ConfigFields& f, ModelSpec& m) {
  read_llama_biases(f, m);
  read_granite_multipliers(f, m, 1);
}

void read_granite_windows(ConfigFields& f, ModelSpec& m) {
  m.attention.sinks = true;
  read_windows_behind_global(f, m, 128, 4);
  const std::optional<ValueReader> bases = f.value({"layer_rope_theta"});
  if (!bases) return;
  for (const ValueReader& base : bases->elements()) {
    const bool rotated = !base.json().is_null();
    if (!rotated || base.number({0, 1e15}) != f.number({"rope_theta"}, m.rotary.base, {0, 1e15}))
      m.own_rule = "bases of rotary positions of single layers";
  }
}

void granite_swa(ConfigFields& f, ModelSpec& m) {
  granite(f, m);
  read_granite_windows(f, m);
}

/// "Peri-LN": norms before and behind attention and MLP.
void hyperclovax(ConfigFields& f, ModelSpec& m) {
  read_llama_biases(f, m);
  read_granite_multipliers(f, m, 1 / std::sqrt(static_cast<double>(m.attention.head_dim)));
  m.logit_multiplier = 1 / m.logit_multiplier;  // logits_scaling multiplies, where Granite's divides
  if (f.flag({"use_post_norm"}, true)) m.norms_per_layer = 4;
}

void cohere(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.norm = NormKind::Layer;
  m.composed_norm = true;
  m.parallel_residual = true;
  m.norms_per_layer = 1;
  m.rotary.interleaved = true;
  m.logit_multiplier = f.number({"logit_scale"}, 0.0625, kCoefficient);
  m.attention.qk_norm = f.flag({"use_qk_norm"}, false);
  m.attention.qk_norm_scope = QkNormScope::EachHead;
  m.attention.qk_norm_kind = NormKind::Layer;
}

void set_global_unrotated(ModelSpec& m) {
  set_unrotated(m, [&](std::int64_t i) { return !class_of_layer(m, i).windowed; });
}

void cohere2(ConfigFields& f, ModelSpec& m) {
  cohere(f, m);
  m.attention.qk_norm = false;
  read_alternating_windows(f, m, 4096, f.size({"sliding_window_pattern"}, 4));
  set_global_unrotated(m);
}

/// Rotates as Llama does; rope_parameters is null for the kinds of layers that have no positions.
void cohere_compass_text(ConfigFields& f, ModelSpec& m) {
  cohere(f, m);
  m.attention.qk_norm = m.rotary.interleaved = false;
  m.logit_multiplier = f.number({"logit_scale"}, 1, kCoefficient);
  read_windows(f, m, f.integer(kWindow, 4096, {0, kSize.high}), [](std::int64_t) { return false; });
  if (!f.value({"rope_parameters"})) return;
  const ConfigFields rope = f.within({"rope_parameters"});
  const bool global = rope.is_null({"full_attention"}), local = rope.is_null({"sliding_attention"});
  set_unrotated(m, [&](std::int64_t i) { return class_of_layer(m, i).windowed ? local : global; });
}

void olmo(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.norm = NormKind::Layer;
  m.norm_weight = false;
  m.attention.value_clip = read_or_none(f, {"clip_qkv"}, 0);
}

void olmo2(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  set_row_norms(m);
  m.norms_behind_branches = true;
}

void olmo3(ConfigFields& f, ModelSpec& m) {
  olmo2(f, m);
  read_alternating_windows(f, m, 4096, 4);
}

void read_exaone_windows(ConfigFields& f, ModelSpec& m, std::int64_t absent, std::int64_t period) {
  m.attention.qk_norm = true;
  const std::int64_t window = f.integer(kWindow, absent, {0, kSize.high});
  if (window == 0) return;
  read_windows(f, m, window, [period](std::int64_t i) { return (i + 1) % period != 0; });
  set_global_unrotated(m);
}

void exaone4(ConfigFields& f, ModelSpec& m) {
  m.norms_behind_branches = true;
  read_exaone_windows(f, m, 4096, f.size({"sliding_window_pattern"}, 4));
}

void cwm(ConfigFields& f, ModelSpec& m) {
  m.mlp.bias = f.flag({"mlp_bias"}, false);
  set_llama3_scaling(m, 16);
  read_windows_behind_global(f, m, 8192, 4);
}

void ministral(ConfigFields& f, ModelSpec& m) {
  read_windows(f, m, f.integer(kWindow, 4096, {0, kSize.high}), [](std::int64_t) { return true; });
}

void ministral3(ConfigFields& f, ModelSpec& m) {
  m.attention.window = f.integer(kWindow, 0);
  m.rotary.scaling = costmodel::RopeScaling::Yarn;
  m.rotary.factor = 16;
  m.rotary.original_positions = 16384;
  m.own_rule = "temperatures of attention by position (llama_4_scaling_beta)";
}

void internlm3(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias", "qkv_bias"}, false));
  m.mlp.bias = f.flag({"mlp_bias", "bias"}, false);
}

void jais2(ConfigFields& f, ModelSpec& m) {
  read_llama_biases(f, m, true);
}

void nemotron(ConfigFields& f, ModelSpec& m) {
  read_llama_biases(f, m);
  m.zero_centered_norm = true;
  m.rotary.share = 0.5;
}

void persimmon(ConfigFields& f, ModelSpec& m) {
  m.rotary.share = 0.5;
  m.attention.qk_norm = f.flag({"qk_layernorm"}, true);
  m.attention.qk_norm_kind = NormKind::Layer;
  m.attention.qk_norm_bias = true;
}

/// Appends the kinds of a group, [["global", "local"], 12], so many times, until `layers` have one.
void append_reaches(const ValueReader& group, std::int64_t layers, std::vector<bool>& local) {
  enum class Reach : std::uint8_t { Global, Local };
  constexpr Named<Reach> kReaches[] = {{"global", Reach::Global}, {"local", Reach::Local}};
  const std::vector<ValueReader> parts = group.elements();
  if (parts.size() != 2) throw group.error("a list of kinds and how often it is repeated");
  const std::int64_t times = parts[1].integer({0, kLayers.high});
  for (std::int64_t i = 0; i < times && std::ssize(local) < layers; ++i) {
    for (const ValueReader& kind : parts[0].elements())
      local.push_back(kind.choice(kReaches) == Reach::Local);
  }
}

/// attention_types: groups of kinds of layers.
void gpt_neo(ConfigFields& f, ModelSpec& m) {
  m.positions = PositionKind::Learned;
  m.attention.qkv_bias = false;
  set_score_scale(m, 1);
  std::vector<bool> local;
  if (const auto types = f.value({"attention_types"})) {
    for (const ValueReader& group : types->elements()) append_reaches(group, m.layers, local);
    if (std::ssize(local) != m.layers)
      throw types->error(fmt::format("kinds of {} layers, not of {}", m.layers, local.size()));
  }
  read_windows(f, m, f.size({"window_size"}, 256), [&](std::int64_t i) {
    return local.empty() ? i % 2 == 1 : static_cast<bool>(local[static_cast<std::size_t>(i)]);
  });
}

/// Norms follow the sums; "gelu" is its approximation here.
void openai_gpt(ConfigFields&, ModelSpec& m) {
  m.positions = PositionKind::Learned;
  m.norms_after = true;
  m.final_norm = false;
  if (m.mlp.activation == costmodel::Activation::Gelu) m.mlp.gelu = costmodel::GeluForm::Tanh;
}

void codegen(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, false);
  m.parallel_residual = m.head_bias = true;
  m.norms_per_layer = 1;
  m.rotary.interleaved = true;
  m.rotary.share =
      static_cast<double>(f.size({"rotary_dim"}, 64)) / static_cast<double>(m.attention.head_dim);
}

void biogpt(ConfigFields& f, ModelSpec& m) {
  m.positions = PositionKind::Learned;
  m.position_offset = 2;  // BioGptLearnedPositionalEmbedding.offset
  m.max_positions += m.position_offset;
  m.norm_epsilon = 1e-5;  // nn.LayerNorm's own: layer_norm_eps is not looked at
  if (f.flag({"scale_embedding"}, true)) m.embedding_multiplier = root_of_hidden(m);
}

void xglm(ConfigFields& f, ModelSpec& m) {
  m.positions = PositionKind::Sinusoidal;
  if (f.flag({"scale_embedding"}, true)) m.embedding_multiplier = root_of_hidden(m);
}

void ctrl(ConfigFields&, ModelSpec& m) {
  m.positions = PositionKind::Sinusoidal;
  m.embedding_multiplier = root_of_hidden(m);
  m.head_bias = true;
}

/// Of text alone, positions in three dimensions are those in one.
void qwen2_vl_text(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = true;
  read_qwen_windows(f, m);
}

void qwen3_vl_text(ConfigFields& f, ModelSpec& m) {
  m.attention.qk_norm = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
}

void glm4v_text(ConfigFields&, ModelSpec& m) {
  m.attention.qkv_bias = true;
  m.norms_per_layer = 4;
  m.rotary.interleaved = true;
}

void hunyuan_v1_dense(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.attention.qk_norm = true;
  m.own_rule = kNormsBehindRotation;
}

void youtu(ConfigFields& f, ModelSpec& m) {
  read_latent_attention(f, m);
}

void minicpm3(ConfigFields& f, ModelSpec& m) {
  read_latent_attention(f, m, {.q_rank = 768, .kv_rank = 256, .nope = 64, .rope = 32, .value = 64});
  m.rotary.interleaved = false;
  m.mlp.bias = f.flag({"mlp_bias"}, false);
  constexpr RealRange kFactor{1e-6, 1e6};
  m.embedding_multiplier = f.number({"scale_emb"}, 12, kFactor);
  m.residual_multiplier = f.number({"scale_depth"}, 1.4, kFactor) / std::sqrt(static_cast<double>(m.layers));
  m.logit_multiplier = f.number({"dim_model_base"}, 256, kFactor) / static_cast<double>(m.hidden);
}

}  // namespace hexaplan::presets
