#include "presets/models/expert_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "presets/models/dense_families.h"
#include "presets/models/family_rules.h"
#include "presets/models/recurrent_families.h"

// Defaults and rules: as in model_families.cpp.
namespace hexaplan::presets {
namespace {

using costmodel::ModelSpec;
using costmodel::NormKind;
using costmodel::RouterScore;

ConfigFields inner_fields(const ValueReader& object) {
  static_cast<void>(object.object());  // InputError unless it is one
  return {object.file(), object.pointer(), *object.json().get_if<JsonObject>()};
}

/// Softmax of the chosen logits alone: weights that add up to 1.
void read_granite_experts(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  read_granite_multipliers(f, m, 1);
  m.moe.renormalise = true;
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 8, 2, {"intermediate_size"}, m.mlp.ffn});
}

}  // namespace

void granitemoe(ConfigFields& f, ModelSpec& m) {
  read_granite_experts(f, m);
}

void granitemoeshared(ConfigFields& f, ModelSpec& m) {
  read_granite_experts(f, m);
  m.moe.shared_ffn = f.integer({"shared_intermediate_size"}, 0, {0, kSize.high});
}

void granitemoe_swa(ConfigFields& f, ModelSpec& m) {
  granitemoeshared(f, m);
  read_granite_windows(f, m);
}

/// Mamba-2 in most layers. Without experts it is a dense model whose MLP is called the shared one.
void granitemoehybrid(ConfigFields& f, ModelSpec& m) {
  read_mamba2(f, m, expanded_columns(f, m));
  read_attention_layers(f, m, [](std::int64_t) { return false; });
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  read_granite_multipliers(f, m, 1);
  const std::int64_t shared = f.integer({"shared_intermediate_size"}, 1024, {0, kSize.high});
  const std::int64_t experts = f.integer({"num_local_experts", "num_experts"}, 8, {0, kExperts.high});
  const std::optional<ValueReader> positions = f.value({"position_embedding_type"});
  m.positions = positions && positions->text() == "rope" ? costmodel::PositionKind::Rotary
                                                         : costmodel::PositionKind::None;
  if (experts == 0) {
    m.mlp.ffn = shared;
    return;
  }
  m.moe.renormalise = true;
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 8, 2, {"intermediate_size"}, m.mlp.ffn});
  m.moe.shared_ffn = shared;
}

/// Norms of whole rows of queries and keys; clipping, where a file asks for it, follows them.
void olmoe(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  set_row_norms(m);
  m.attention.value_clip = read_or_none(f, {"clip_qkv"}, 0);
  if (m.attention.value_clip > 0) m.own_rule = "clipped queries and keys behind their norms";
  m.moe.renormalise = f.flag({"norm_topk_prob"}, false);
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 64, 8, {"intermediate_size"}, m.mlp.ffn});
}

void flex_olmo(ConfigFields& f, ModelSpec& m) {
  olmo2(f, m);
  m.moe.renormalise = f.flag({"norm_topk_prob"}, false);
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 7, 5, {"intermediate_size"}, m.mlp.ffn});
}

void phimoe(ConfigFields& f, ModelSpec& m) {
  m.norm = NormKind::Layer;
  m.norm_bias = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.head_bias = f.flag({"lm_head_bias"}, false);
  read_plain_window(f, m, 0);
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 16, 2, {"intermediate_size"}, m.mlp.ffn});
  m.own_rule = "SparseMixer's choices of experts (arXiv:2310.00811)";
}

void ernie4_5_moe(ConfigFields& f, ModelSpec& m) {
  refuse_shared_biases(f, {"use_bias"});
  m.rotary.interleaved = true;
  read_experts(f, m,
               {{"moe_num_experts", "num_experts"},
                64,
                6,
                {"moe_intermediate_size"},
                1536,
                {"moe_k", "num_experts_per_tok"}});
  m.moe.shared_ffn = f.integer({"moe_num_shared_experts"}, 2, {0, kExperts.high}) * m.moe.expert_ffn;
  m.moe.router_correction = m.moe.renormalise = true;
  m.own_rule = "choices of experts by corrected softmax scores";
  constexpr IntegerRange kLayer{-1, kLayers.high};
  const std::int64_t first = f.size({"moe_layer_start_index"}, 1, kLayer),
                     end = f.size({"moe_layer_end_index"}, -1, kLayer), last = end < 0 ? m.layers - 1 : end,
                     every = f.size({"moe_layer_interval"}, 1);
  set_expert_layers(m, [=](std::int64_t i) { return (i + 1) % every == 0 && i >= first && i <= last; });
}

void hunyuan_v1_moe(ConfigFields& f, ModelSpec& m) {
  hunyuan_v1_dense(f, m);
  m.moe.renormalise = true;
  read_experts(f, m,
               {{"num_experts", "num_local_experts"},
                1,
                1,
                {"intermediate_size"},
                m.mlp.ffn,
                {"moe_topk", "num_experts_per_tok"}});
  m.moe.shared_ffn = m.mlp.ffn;
}

/// rotary_dim stands where later files have partial_rotary_factor.
void minimax_m2(ConfigFields& f, ModelSpec& m) {
  set_row_norms(m);
  const std::int64_t turned = f.size({"rotary_dim"}, m.attention.head_dim);
  m.rotary.share = std::min(1.0, static_cast<double>(turned) / static_cast<double>(m.attention.head_dim));
  m.moe.score = RouterScore::Sigmoid;
  m.moe.router_correction = m.moe.renormalise = true;
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 256, 8, {"intermediate_size"}, m.mlp.ffn});
}

void aria_text(ConfigFields& f, ModelSpec& m) {
  refuse_shared_biases(f, {"mlp_bias"});
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.moe.renormalise = true;
  read_experts(
      f, m,
      {{"moe_num_experts"}, 8, 2, {"intermediate_size"}, m.mlp.ffn, {"moe_topk", "num_experts_per_tok"}});
  m.moe.shared_ffn = f.integer({"moe_num_shared_experts"}, 2, {0, kExperts.high}) * m.mlp.ffn;
}

namespace {

/// Sigmoid scores with a correction for the choice, groups and a factor.
void read_sigmoid_router(ConfigFields& f, ModelSpec& m, double weight_factor) {
  read_deepseek_router(f, m, {ChoiceOfExperts::Corrected, RouterScore::Sigmoid, 1, 1, weight_factor, true});
}

}  // namespace

void exaone_moe(ConfigFields& f, ModelSpec& m) {
  read_exaone_windows(f, m, 4096, f.size({"sliding_window_pattern"}, 4));
  read_experts(f, m,
               {.experts = {"num_experts", "num_local_experts"},
                .experts_absent = 64,
                .top_k_absent = 8,
                .ffn = {"moe_intermediate_size"},
                .ffn_absent = 1024,
                .balance_absent = 0});
  m.moe.shared_ffn = f.integer({"num_shared_experts"}, 1, {0, kExperts.high}) * m.moe.expert_ffn;
  const std::int64_t dense = f.integer({"first_k_dense_replace"}, 1, {0, kSize.high});
  read_mlp_layer_types(f, m, [dense](std::int64_t i) { return i >= dense; });
  read_sigmoid_router(f, m, 2.5);
}

/// EXAONE-4's attention between four norms; experts in every layer.
void kolibri1(ConfigFields& f, ModelSpec& m) {
  read_exaone_windows(f, m, 513, 5);
  m.norms_per_layer = 4;
  read_experts(f, m,
               {.experts = {"num_experts", "num_local_experts"},
                .experts_absent = 384,
                .top_k_absent = 6,
                .ffn = {"moe_intermediate_size"},
                .ffn_absent = 512,
                .balance_absent = 0});
  m.mlp.ffn = m.moe.expert_ffn;
  m.moe.shared_ffn = f.integer({"shared_expert_intermediate_size"}, 512);
  m.moe.score = RouterScore::Sigmoid;
  m.moe.router_correction = true;
  m.moe.renormalise = f.flag({"norm_topk_prob"}, false);
  m.own_rule = "choices of experts by corrected logits";
}

/// Qwen-3's attention with sinks; global layers have no positions.
void flint(ConfigFields& f, ModelSpec& m) {
  m.attention.qk_norm = m.attention.sinks = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  read_windows(f, m, f.integer(kWindow, 513, {0, kSize.high}),
               [last = m.layers - 1](std::int64_t i) { return i > 1 && i % 4 != 1 && i != last; });
  set_global_unrotated(m);
  read_experts(f, m,
               {.experts = {"num_experts", "num_local_experts"},
                .experts_absent = 256,
                .top_k_absent = 6,
                .ffn = {"moe_intermediate_size"},
                .ffn_absent = 512,
                .balance_absent = 0.0005});
  m.moe.shared_ffn = f.integer({"shared_expert_intermediate_size"}, 1024);
  m.moe.score = RouterScore::Sigmoid;
  m.moe.renormalise = f.flag({"norm_topk_prob"}, true);
  m.moe.period = f.size({"decoder_sparse_step"}, 1);
  const LayerRule dense = listed_layers(f, m, {"mlp_only_layers"}, [](std::int64_t i) { return i < 2; });
  set_expert_layers(m, [&](std::int64_t i) { return !dense(i); });
}

namespace {

constexpr Named<bool> kMeans[] = {{"average", true}, {"sum", false}};

/// Weights are of the chosen logits: a softmax of them alone, or their sigmoids.
void read_cohere_experts(ConfigFields& f, ModelSpec& m) {
  read_experts(f, m,
               {.experts = {"num_experts", "num_local_experts"},
                .experts_absent = 8,
                .top_k_absent = 2,
                .ffn = {"intermediate_size"},
                .ffn_absent = m.mlp.ffn,
                .balance_absent = 0});
  m.mlp.ffn = f.size({"prefix_dense_intermediate_size"}, m.mlp.ffn);
  m.moe.score = read_router_score(f, {"expert_selection_fn"}, RouterScore::Softmax);
  m.moe.renormalise = m.moe.score == RouterScore::Softmax || f.flag({"norm_topk_prob"}, true);
  m.moe.shared_ffn = f.integer({"num_shared_experts"}, 0, {0, kExperts.high}) * m.moe.expert_ffn;
  const std::optional<ValueReader> joined = f.value({"shared_expert_combination_strategy"});
  if (m.moe.shared_ffn > 0 && (!joined || joined->choice(kMeans)))
    m.own_rule = "means of routed and shared experts";
}

}  // namespace

/// Cohere-2 with experts behind some dense layers, whose windows have a period of their own. Dense layers
/// keep their positions where that period is 1.
void cohere2_moe(ConfigFields& f, ModelSpec& m) {
  cohere(f, m);
  m.attention.qk_norm = false;
  if (f.value({"rms_norm_eps"})) {
    m.norm = NormKind::Rms;
  } else {
    m.norm_epsilon = f.number({"layer_norm_eps"}, 1e-5, {0, 1});
  }
  const std::int64_t first = f.integer({"first_k_dense_replace"}, 0, {0, kSize.high}),
                     early = f.size({"prefix_dense_sliding_window_pattern"}, 1),
                     late = f.size({"sliding_window_pattern"}, 4);
  read_windows(f, m, f.integer(kWindow, 4096, {0, kSize.high}), [=](std::int64_t i) {
    return i < first ? (i + 1) % early != 0 : (i - first + 1) % late != 0;
  });
  read_mlp_layer_types(f, m, [first](std::int64_t i) { return i >= first; });
  read_cohere_experts(f, m);
  set_unrotated(m, [&](std::int64_t i) {
    const costmodel::LayerClass layer = class_of_layer(m, i);
    return !layer.windowed && (layer.moe || early != 1);
  });
}

namespace {

/// The names that Sarvam's own code has are those of its published files.
constexpr Key kSarvamExperts{"n_routed_experts", "num_experts"},
    kSarvamShared{"n_shared_experts", "num_shared_experts"};

void read_sarvam_experts(ConfigFields& f, ModelSpec& m, std::int64_t top_k, std::int64_t expert_ffn) {
  read_corrected_experts(f, m,
                         {.experts = 128,
                          .shared = 1,
                          .top_k = top_k,
                          .expert_ffn = expert_ffn,
                          .first_k_dense = 1,
                          .experts_key = kSarvamExperts,
                          .shared_key = kSarvamShared},
                         2.5, true);
  m.mtp_layers =
      static_cast<int>(f.integer({"num_nextn_predict_layers", "num_mtp_layers"}, 0, {0, kLayers.high}));
}

}  // namespace

/// GLM-4.5 whose heads are rotated whole.
void sarvam_moe(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"attention_bias", "use_qkv_bias"}, false);
  m.attention.qk_norm = f.flag({"use_qk_norm"}, true);
  read_sarvam_experts(f, m, 6, 1024);
}

/// DeepSeek-V3 whose queries are projected at once.
void sarvam_mla(ConfigFields& f, ModelSpec& m) {
  read_latent_attention(f, m, {.q_rank = 0});
  read_sarvam_experts(f, m, 8, 2048);
}

/// Latent attention, softmax scores, and a temperature of its queries by position.
void mistral4(ConfigFields& f, ModelSpec& m) {
  read_latent_attention(f, m, {.q_rank = 1024, .kv_rank = 256, .nope = 64, .rope = 64, .value = 128});
  read_deepseek_experts(f, m,
                        {.experts = 128, .shared = 1, .top_k = 4, .expert_ffn = 2048, .first_k_dense = 0});
  read_deepseek_router(f, m, {ChoiceOfExperts::Grouped, RouterScore::Softmax, 1, 1, 1.0, true});
  m.rotary.interleaved = f.flag({"rope_interleave"}, true);
  m.own_rule = "temperatures of attention by position (llama_4_scaling_beta)";
}

void mellum(ConfigFields& f, ModelSpec& m) {
  m.attention.qk_norm = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.rotary.local_base = 10000;
  read_windows(f, m, f.integer(kWindow, 1024, {0, kSize.high}), [](std::int64_t) { return false; });
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 64, 8, {"moe_intermediate_size"}, 896});
  m.moe.renormalise = f.flag({"norm_topk_prob"}, true);
  read_mlp_layer_types(f, m, [](std::int64_t) { return true; });
  m.mtp_layers = static_cast<int>(f.integer({"num_nextn_predict_layers"}, 0, {0, kLayers.high}));
}

void solar_open(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"attention_bias"}, false);
  read_corrected_experts(
      f, m, {.experts = 128, .shared = 1, .top_k = 8, .expert_ffn = 1280, .first_k_dense = 0}, 1.0, true);
  m.moe.balance_coefficient = f.number({"router_aux_loss_coef"}, 0, kCoefficient);
}

void glm4_moe_lite(ConfigFields& f, ModelSpec& m) {
  read_latent_attention(f, m, {.q_rank = 768, .nope = 192, .value = 256});
  read_corrected_experts(
      f, m, {.experts = 64, .shared = 1, .top_k = 4, .expert_ffn = 1536, .first_k_dense = 0}, 1.8, true);
  read_mlp_layer_types(f, m, [](std::int64_t i) { return i > 0; });
}

/// Queries, keys and values alone have biases, whatever the key says of others.
void glm4v_moe_text(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"attention_bias"}, true);
  m.rotary.share = 0.5;
  read_corrected_experts(
      f, m, {.experts = 128, .shared = 1, .top_k = 8, .expert_ffn = 1408, .first_k_dense = 1}, 1.0, true);
}

void hy_v3(ConfigFields& f, ModelSpec& m) {
  refuse_shared_biases(f, {"mlp_bias"});
  m.attention.qk_norm = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  read_experts(f, m,
               {.experts = {"num_experts", "num_local_experts"},
                .experts_absent = 192,
                .top_k_absent = 8,
                .ffn = {"moe_intermediate_size"},
                .ffn_absent = 1536,
                .balance_absent = 0});
  m.moe.shared_ffn = f.integer({"num_shared_experts"}, 1, {0, kExperts.high}) * m.moe.expert_ffn;
  m.moe.score = RouterScore::Sigmoid;
  m.moe.router_correction = m.moe.renormalise = true;
  m.moe.weight_factor = f.number({"router_scaling_factor"}, 2.826, kCoefficient);
  read_mlp_layer_types(f, m, [](std::int64_t i) { return i > 0; });
}

/// intermediate_size is an expert's; the dense layers' has a name of its own.
void llama4_text(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.rotary.interleaved = true;
  read_unrotated(f, m);
  m.attention.chunked = true;
  read_windows(f, m, f.integer({"attention_chunk_size"}, 8192, {0, kSize.high}),
               [&](std::int64_t i) { return !class_of_layer(m, i).unrotated; });
  m.attention.chunked = m.attention.window > 0;
  const std::int64_t expert_ffn = f.size({"intermediate_size"}, 8192);
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 16, 1, {"intermediate_size"}, expert_ffn});
  m.moe.shared_ffn = expert_ffn;
  m.moe.score = RouterScore::Sigmoid;
  const std::int64_t every = f.size({"interleave_moe_layer_step"}, 1);
  set_expert_layers(
      m, listed_layers(f, m, {"moe_layers"}, [every](std::int64_t i) { return (i + 1) % every == 0; }));
  m.own_rule = "norms of rotated queries and keys, temperatures by position and weights of experts' inputs";
}

/// The MLP's fields and attention's stand in objects of their own.
void dbrx(ConfigFields& f, ModelSpec& m) {
  m.norm = NormKind::Layer;
  m.attention.kv_heads = 1;
  m.mlp.ffn = 3584;
  m.moe = {.experts = 4, .top_k = 1, .renormalise = true};
  if (const auto attention = f.value({"attn_config"})) {
    ConfigFields inner = inner_fields(*attention);
    m.attention.kv_heads = inner.size({"kv_n_heads"}, 1);
    m.attention.value_clip = read_or_none(inner, {"clip_qkv"}, 0);
    if (m.attention.heads % m.attention.kv_heads != 0)
      throw inner.error({"kv_n_heads"}, m.attention.kv_heads,
                        fmt::format("a divisor of {} (n_heads)", m.attention.heads));
    m.rotary.base = inner.number({"rope_theta"}, m.rotary.base, {1, 1e15});
  }
  if (const auto mlp = f.value({"ffn_config"})) {
    ConfigFields inner = inner_fields(*mlp);
    m.mlp.ffn = inner.size({"ffn_hidden_size"}, m.mlp.ffn);
    m.moe.experts = inner.size({"moe_num_experts"}, m.moe.experts, kExperts);
    m.moe.top_k = inner.size({"moe_top_k"}, m.moe.top_k, {1, m.moe.experts});
    m.moe.renormalise = !inner.is_null({"moe_normalize_expert_weights"});
  }
  m.moe.expert_ffn = m.mlp.ffn;
}

void qwen3_vl_moe_text(ConfigFields& f, ModelSpec& m) {
  qwen3_vl_text(f, m);
  m.moe.renormalise = true;
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 60, 4, {"moe_intermediate_size"}, 1408});
  read_sparse_layers(f, m);
}

}  // namespace hexaplan::presets
