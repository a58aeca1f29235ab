#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "costmodel/spec/stage_plan.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

using costmodel::AttentionKind;
using costmodel::DType;
using costmodel::PositionKind;
using costmodel::RopeScaling;
using costmodel::RouterScore;
using costmodel::Scenario;

namespace {

using S = const Scenario&;
using V = const ValueReader&;
using R = LaunchReading&;

/// Which layers have experts, as the Python expression that --moe-layer-freq takes: "([0]*3+[1]*58)".
JsonValue expert_layers(S s) {
  if (!s.model.is_moe()) return {};
  std::string text;
  std::int64_t moe_layers = 0;
  for (std::int64_t layer = 0; layer < s.model.layers;) {
    const bool moe = costmodel::class_of_layer(s.model, layer).moe;
    std::int64_t run = 0;
    for (; layer < s.model.layers && costmodel::class_of_layer(s.model, layer).moe == moe; ++layer) ++run;
    if (moe) moe_layers += run;
    text += (text.empty() ? "" : "+") + std::string{moe ? "[1]*" : "[0]*"} + std::to_string(run);
  }
  return only_if(moe_layers < s.model.layers, "(" + text + ")");
}
bool grouped(S s) {
  return !has_latent_attention(s) && s.model.attention.kv_heads < s.model.attention.heads;
}
JsonValue positions(S s) {
  constexpr FrameworkWord<costmodel::PositionKind> kWords[] = {
      {costmodel::PositionKind::Rotary, "rope"},
      {costmodel::PositionKind::Learned, "learned_absolute"},
      {costmodel::PositionKind::Alibi, "none"},
      {costmodel::PositionKind::Sinusoidal, "none"},
      {costmodel::PositionKind::None, "none"}};
  return word_of(kWords, s.model.positions);
}
std::int64_t position_rows(S s) {
  return std::max(s.model.max_positions, s.recipe.sequence);
}

// --- what is computed: positions, norms, gates, routers ---

/// As Megatron-LM's --use-rope-scaling has it, whose other numbers are not arguments
/// (core_v0.15.3 megatron/core/models/common/embeddings/rotary_pos_embedding.py, _apply_scaling).
bool scaled_like_llama3(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  return is_rotary(s) && r.scaling == RopeScaling::Llama3 && r.low_frequency == 1 && r.high_frequency == 4 &&
         r.original_positions == 8192;
}
bool scaled_linearly(S s) {
  return is_rotary(s) && s.model.rotary.scaling == RopeScaling::Linear &&
         s.model.rotary.factor == std::floor(s.model.rotary.factor);
}
/// Latent attention alone has YaRN among the arguments.
bool latent_yarn(S s) {
  return has_latent_attention(s) && s.model.rotary.scaling == RopeScaling::Yarn;
}
bool is_silu(S s) {
  return s.model.mlp.activation == costmodel::Activation::Silu && s.model.mlp.clamp == 0;
}
bool quick_gate(S s) {
  return s.model.mlp.clamp > 0 ||
         (s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::Gelu &&
          s.model.mlp.gelu == costmodel::GeluForm::Quick);
}
/// A query sees this many tokens before its own.
JsonValue window(S s) {
  return only_if(s.model.attention.window > 0, std::to_string(s.model.attention.window - 1) + ",0");
}
/// Which layers have the window, where not all do: the period, or a list of ones and zeros.
JsonValue windowed_layers(S s) {
  const costmodel::AttentionSpec& a = s.model.attention;
  if (a.window == 0 || (a.global_period == 0 && a.global_layers.empty())) return {};
  if (a.global_layers.empty()) return std::to_string(a.global_period);
  std::string text = "[";
  for (std::int64_t layer = 0; layer < s.model.layers; ++layer)
    text +=
        std::string{layer > 0 ? "," : ""} + (costmodel::class_of_layer(s.model, layer).windowed ? "1" : "0");
  return text + "]";
}
bool softmax_of_all(S s) {
  return s.model.is_moe() && s.model.moe.score == RouterScore::Softmax && !s.model.moe.renormalise;
}
bool grouped_experts(S s) {
  return s.model.is_moe() && s.model.moe.top_groups < s.model.moe.groups;
}
/// DeepSeek's loss is that of each sequence (arXiv:2412.19437 eq. 17), the others' that of the batch.
JsonValue balance_kind(S s) {
  if (!s.model.is_moe()) return {};
  if (s.model.moe.balance_coefficient == 0) return "none";
  return has_latent_attention(s) ? "seq_aux_loss" : "aux_loss";
}

// --- as they are read ---

constexpr IntegerRange kDimension{1, 1'000'000'000};

/// A dimension of the model, of its attention or of its experts.
template <std::int64_t costmodel::ModelSpec::*size>
void read_size(V v, R r) {
  r.plan.model.*size = v.integer(kDimension);
  r.says_model = true;
}
void read_layers(V v, R r) {
  r.plan.model.layers = v.integer({1, 10'000});
  r.says_model = true;
}
template <std::int64_t costmodel::AttentionSpec::*size>
void read_attention(V v, R r) {
  r.plan.model.attention.*size = v.integer(kDimension);
}
template <std::int64_t costmodel::MoeSpec::*size>
void read_experts(V v, R r) {
  r.plan.model.moe.*size = v.integer(kDimension);
}
/// "4095,0", or [4095, 0], or -1 for none.
void read_window(V v, R r) {
  std::string text = text_in(v);
  text.erase(0, std::min(text.find_first_not_of("[( "), text.size()));
  const std::int64_t before = std::strtoll(text.c_str(), nullptr, 10);
  r.plan.model.attention.window = before < 0 || before >= kDimension.high ? 0 : before + 1;
}
void read_kind_of_balance(V v, R r) {
  if (text_in(v) == "none") r.plan.model.moe.balance_coefficient = 0;
}

bool is_nanotrons_qwen(const costmodel::ModelSpec& m) {
  return m.attention.qkv_bias || m.attention.window > 0;
}

// Keys: Megatron-LM, nanotron, torchtitan, DeepSpeed, Megatron-Bridge, MaxText; their sources stand in
// launch_formats().
constexpr LaunchField kModelSettings[] = {
    // The model.
    // Of nanotron's classes Qwen2Config alone has windows, and projections with biases in the model.
    {[](S s) { return when(!is_nanotrons_qwen(s.model)); }, {kNone, "model.model_config.is_llama_config"}},
    {[](S s) { return when(is_nanotrons_qwen(s.model)); },
     {kNone, "model.model_config.is_qwen2_config"},
     [](V v, R r) { r.qkv_bias = r.qkv_bias || v.boolean(); }},
    {[](S s) { return only_if(is_nanotrons_qwen(s.model), s.model.attention.qkv_bias); },
     {kNone, "model.model_config.attention_bias"},
     read_flag<&LaunchReading::qkv_bias>},
    {[](S s) -> JsonValue { return s.model.layers; },
     {"--num-layers", "model.model_config.num_hidden_layers", kNone, kNone, "model.num_layers",
      "base_num_decoder_layers"},
     read_layers},
    {[](S s) -> JsonValue { return s.model.hidden; },
     {"--hidden-size", "model.model_config.hidden_size", kNone, kNone, "model.hidden_size", "base_emb_dim"},
     read_size<&costmodel::ModelSpec::hidden>},
    {[](S s) -> JsonValue { return s.model.mlp.ffn; },
     {"--ffn-hidden-size", "model.model_config.intermediate_size", kNone, kNone, "model.ffn_hidden_size"},
     [](V v, R r) { r.plan.model.mlp.ffn = v.integer(kDimension); }},
    {[](S s) -> JsonValue { return s.model.attention.heads; },
     {"--num-attention-heads", "model.model_config.num_attention_heads", kNone, kNone,
      "model.num_attention_heads", "base_num_query_heads"},
     read_attention<&costmodel::AttentionSpec::heads>},
    {[](S s) -> JsonValue { return s.model.attention.kv_heads; },
     {kNone, "model.model_config.num_key_value_heads", kNone, kNone, kNone, "base_num_kv_heads"},
     read_attention<&costmodel::AttentionSpec::kv_heads>},
    {[](S s) { return when(grouped(s)); }, {"--group-query-attention"}},
    {[](S s) { return only_if(grouped(s), s.model.attention.kv_heads); },
     {"--num-query-groups", kNone, kNone, kNone, "model.num_query_groups"},
     read_attention<&costmodel::AttentionSpec::kv_heads>},
    // Megatron-LM divides where nobody says it (validate_args), and latent attention need not be divisible.
    {[](S s) {
       const bool divides = s.model.hidden % std::max<std::int64_t>(1, s.model.attention.heads) == 0;
       return only_if(!has_latent_attention(s) || !divides, s.model.attention.head_dim);
     },
     {"--kv-channels", kNone, kNone, kNone, "model.kv_channels", "head_dim"},
     read_attention<&costmodel::AttentionSpec::head_dim>},
    {[](S s) { return when(has_latent_attention(s)); },
     {"--multi-latent-attention"},
     [](V v, R r) {
       if (v.boolean()) r.plan.model.attention.kind = AttentionKind::Latent;
     }},
    {[](S s) {
       return only_if(has_latent_attention(s) && s.model.attention.q_lora_rank > 0,
                      s.model.attention.q_lora_rank);
     },
     {"--q-lora-rank", kNone, kNone, kNone, kNone, "q_lora_rank"},
     read_attention<&costmodel::AttentionSpec::q_lora_rank>},
    {[](S s) { return only_if(has_latent_attention(s), s.model.attention.kv_lora_rank); },
     {"--kv-lora-rank", kNone, kNone, kNone, "model.kv_lora_rank", "kv_lora_rank"},
     read_attention<&costmodel::AttentionSpec::kv_lora_rank>},
    {[](S s) { return only_if(has_latent_attention(s), s.model.attention.qk_nope_dim); },
     {"--qk-head-dim", kNone, kNone, kNone, "model.qk_head_dim", "qk_nope_head_dim"},
     read_attention<&costmodel::AttentionSpec::qk_nope_dim>},
    {[](S s) { return only_if(has_latent_attention(s), s.model.attention.qk_rope_dim); },
     {"--qk-pos-emb-head-dim", kNone, kNone, kNone, "model.qk_pos_emb_head_dim", "qk_rope_head_dim"},
     read_attention<&costmodel::AttentionSpec::qk_rope_dim>},
    {[](S s) { return only_if(has_latent_attention(s), s.model.attention.v_head_dim); },
     {"--v-head-dim", kNone, kNone, kNone, "model.v_head_dim", "v_head_dim"},
     read_attention<&costmodel::AttentionSpec::v_head_dim>},
    {[](S s) -> JsonValue { return s.model.norm == costmodel::NormKind::Rms ? "RMSNorm" : "LayerNorm"; },
     {"--normalization", kNone, kNone, kNone, "model.normalization"},
     [](V v, R r) {
       constexpr FrameworkWord<costmodel::NormKind> kNorms[] = {{costmodel::NormKind::Rms, "RMSNorm"},
                                                                {costmodel::NormKind::Layer, "LayerNorm"}};
       r.plan.model.norm = meaning_of(kNorms, v);
     }},
    {[](S s) -> JsonValue { return s.model.norm_epsilon; },
     {"--norm-epsilon", "model.model_config.rms_norm_eps", kNone, kNone, "model.layernorm_epsilon",
      "normalization_layer_epsilon"},
     [](V v, R r) {
       r.plan.model.norm_epsilon = v.number({0, 1});
     }},
    {[](S s) { return when(s.model.zero_centered_norm); },
     {"--apply-layernorm-1p", kNone, kNone, kNone, "model.layernorm_zero_centered_gamma"},
     [](V v, R r) { r.plan.model.zero_centered_norm = v.boolean(); }},
    {[](S s) { return when(s.model.mlp.gated && is_silu(s)); },
     {"--swiglu"},
     read_flag<&LaunchReading::gated>},
    {[](S s) { return when(quick_gate(s)); }, {"--quick-geglu"}, read_flag<&LaunchReading::quick_gate>},
    {[](S s) {
       return when(!s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::ReluSquared);
     },
     {"--squared-relu"},
     read_flag<&LaunchReading::squared_relu>},
    {[](S s) { return only_if(s.model.mlp.clamp > 0, s.model.mlp.clamp); },
     {"--activation-func-clamp-value", kNone, kNone, kNone, "model.activation_func_clamp_value"},
     [](V v, R r) { r.plan.model.mlp.clamp = v.number(kNotNegative); }},
    {[](S s) { return only_if(s.model.mlp.clamp > 0, 1.0); },
     {"--glu-linear-offset", kNone, kNone, kNone, "model.glu_linear_offset"}},
    // Its fused bias and GELU is the approximation by tanh (megatron/core/fusions/fused_bias_gelu.py).
    {[](S s) {
       return when(!s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::Gelu &&
                   s.model.mlp.gelu == costmodel::GeluForm::Exact && has_linear_bias(s));
     },
     {"--no-bias-gelu-fusion"},
     read_flag<&LaunchReading::no_gelu_fusion>},
    {[](S s) { return when(!has_linear_bias(s)); },
     {"--disable-bias-linear"},
     read_flag<&LaunchReading::no_bias>},
    {[](S s) { return when(s.model.attention.qkv_bias && !has_linear_bias(s)); },
     {"--add-qkv-bias", kNone, kNone, kNone, "model.add_qkv_bias"},
     read_flag<&LaunchReading::qkv_bias>},
    // Latent attention norms its compressed queries and keys.
    {[](S s) { return when(s.model.attention.qk_norm || has_latent_attention(s)); },
     {"--qk-layernorm", kNone, kNone, kNone, "model.qk_layernorm"},
     [](V v, R r) { r.plan.model.attention.qk_norm = v.boolean(); }},
    {[](S s) { return only_if(s.model.attention.sinks, "learnable"); },
     {"--softmax-type", kNone, kNone, kNone, "model.softmax_type"},
     [](V v, R r) { r.plan.model.attention.sinks = v.text() == "learnable"; }},
    {window, {"--window-size"}, read_window},
    {windowed_layers, {"--window-attn-skip-freq"}, [](V v, R r) { r.windowed = text_in(v); }},
    {positions,
     {"--position-embedding-type"},
     [](V v, R r) {
       constexpr FrameworkWord<PositionKind> kKinds[] = {{PositionKind::Rotary, "rope"},
                                                         {PositionKind::Rotary, "yarn"},
                                                         {PositionKind::Learned, "learned_absolute"},
                                                         {PositionKind::None, "none"}};
       r.plan.model.positions = meaning_of(kKinds, v);
     }},
    {[](S s) { return only_if(is_rotary(s), static_cast<std::int64_t>(std::llround(s.model.rotary.base))); },
     {"--rotary-base", kNone, kNone, kNone, kNone, "rope_max_timescale"},
     [](V v, R r) {
       r.plan.model.rotary.base = v.number({1, 1e15});
     }},
    {[](S s) { return only_if(is_rotary(s), s.model.rotary.base); },
     {kNone, "model.model_config.rope_theta"},
     [](V v, R r) {
       r.plan.model.rotary.base = v.number({1, 1e15});
     }},
    {[](S s) { return only_if(is_rotary(s), false); },
     {kNone, "model.model_config.rope_interleaved"},
     [](V v, R r) { r.plan.model.rotary.interleaved = v.boolean(); }},
    {[](S s) { return only_if(is_rotary(s) && s.model.rotary.share < 1, s.model.rotary.share); },
     {"--rotary-percent", kNone, kNone, kNone, "model.rotary_percent"},
     [](V v, R r) { r.plan.model.rotary.share = v.number(kShare); }},
    // Latent attention reorders columns itself.
    {[](S s) { return when(is_rotary(s) && s.model.rotary.interleaved && !has_latent_attention(s)); },
     {"--rotary-interleaved", kNone, kNone, kNone, "model.rotary_interleaved"},
     [](V v, R r) { r.plan.model.rotary.interleaved = v.boolean(); }},
    {[](S s) { return when(scaled_like_llama3(s)); },
     {"--use-rope-scaling", kNone, kNone, kNone, "model.rope_scaling"},
     [](V v, R r) {
       if (v.boolean()) r.plan.model.rotary.scaling = RopeScaling::Llama3;
     }},
    {[](S s) { return only_if(scaled_like_llama3(s), s.model.rotary.factor); },
     {"--rope-scaling-factor", kNone, kNone, kNone, "model.rope_scaling_factor"},
     [](V v, R r) {
       r.plan.model.rotary.factor = v.number({0, 1e6});
     }},
    {[](S s) {
       return only_if(scaled_linearly(s), static_cast<std::int64_t>(std::llround(s.model.rotary.factor)));
     },
     {"--rotary-seq-len-interpolation-factor", kNone, kNone, kNone, "model.seq_len_interpolation_factor"},
     [](V v, R r) {
       r.plan.model.rotary.scaling = RopeScaling::Linear;
       r.plan.model.rotary.factor = v.number({0, 1e6});
     }},
    {[](S s) { return only_if(has_latent_attention(s), latent_yarn(s) ? "yarn" : "rope"); },
     {"--rope-type", kNone, kNone, kNone, "model.rope_type"},
     [](V v, R r) {
       if (v.text() == "yarn") r.plan.model.rotary.scaling = RopeScaling::Yarn;
     }},
    {[](S s) { return only_if(latent_yarn(s), s.model.rotary.factor); },
     {"--rotary-scaling-factor", kNone, kNone, kNone, "model.rotary_scaling_factor"},
     [](V v, R r) {
       r.plan.model.rotary.factor = v.number({0, 1e6});
     }},
    {[](S s) { return only_if(s.model.attention.window > 0, s.model.attention.window); },
     {kNone, "model.model_config.sliding_window_size"},
     [](V v, R r) { r.plan.model.attention.window = v.integer(kCount); }},
    {[](S s) -> JsonValue { return position_rows(s); },
     {"--max-position-embeddings", "model.model_config.max_position_embeddings"},
     [](V v, R r) { r.plan.model.max_positions = v.integer(kDimension); }},
    {[](S s) -> JsonValue { return s.model.vocab; },
     {"--vocab-size", "model.model_config.vocab_size", kNone, kNone, "model.vocab_size", "vocab_size"},
     [](V v, R r) { r.plan.model.vocab = v.integer(kDimension); }},
    {[](S s) -> JsonValue { return s.framework.vocab_multiple; },
     {"--make-vocab-size-divisible-by", "model.make_vocab_size_divisible_by", kNone, kNone,
      "model.make_vocab_size_divisible_by"}},
    {[](S s) { return when(!s.model.tied_embeddings); },
     {"--untie-embeddings-and-output-weights"},
     [](V v, R r) { r.plan.model.tied_embeddings = !v.boolean(); }},
    {[](S s) -> JsonValue { return s.model.tied_embeddings; },
     {kNone, "model.model_config.tie_word_embeddings", kNone, kNone, kNone, "logits_via_embedding"},
     [](V v, R r) { r.plan.model.tied_embeddings = v.boolean(); }},
    {[](S s) { return only_if(s.model.mtp_layers > 0, s.model.mtp_layers); },
     {"--mtp-num-layers", kNone, kNone, kNone, "model.mtp_num_layers", "mtp_num_layers"},
     [](V v, R r) {
       r.plan.model.mtp_layers = v.small_integer({0, 1000});
     }},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.experts); },
     {"--num-experts", "model.model_config.moe_config.num_experts", kNone, kNone, "model.num_moe_experts",
      "num_experts"},
     read_experts<&costmodel::MoeSpec::experts>},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.top_k); },
     {"--moe-router-topk", "model.model_config.moe_config.top_k", kNone, kNone, "model.moe_router_topk",
      "num_experts_per_tok"},
     read_experts<&costmodel::MoeSpec::top_k>},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.expert_ffn); },
     {"--moe-ffn-hidden-size", kNone, kNone, kNone, "model.moe_ffn_hidden_size", "base_moe_mlp_dim"},
     read_experts<&costmodel::MoeSpec::expert_ffn>},
    {[](S s) { return only_if(s.model.moe.shared_ffn > 0, s.model.moe.shared_ffn); },
     {"--moe-shared-expert-intermediate-size", kNone, kNone, kNone,
      "model.moe_shared_expert_intermediate_size"},
     read_experts<&costmodel::MoeSpec::shared_ffn>},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.shared_ffn > 0); },
     {kNone, "model.model_config.moe_config.enable_shared_expert"}},
    {expert_layers, {"--moe-layer-freq"}, [](V v, R r) { r.layer_experts = text_in(v); }},
    {[](S s) {
       return only_if(s.model.is_moe(), s.model.moe.score == RouterScore::Sigmoid ? "sigmoid" : "softmax");
     },
     {"--moe-router-score-function", kNone, kNone, kNone, "model.moe_router_score_function"},
     [](V v, R r) {
       constexpr FrameworkWord<RouterScore> kScores[] = {{RouterScore::Sigmoid, "sigmoid"},
                                                         {RouterScore::Softmax, "softmax"}};
       r.plan.model.moe.score = meaning_of(kScores, v);
     }},
    {[](S s) { return when(softmax_of_all(s)); },
     {"--moe-router-pre-softmax", kNone, kNone, kNone, "model.moe_router_pre_softmax"},
     [](V v, R r) { r.plan.model.moe.renormalise = !v.boolean(); }},
    {[](S s) { return only_if(grouped_experts(s), s.model.moe.groups); },
     {"--moe-router-num-groups", kNone, kNone, kNone, "model.moe_router_num_groups", "n_routing_groups"},
     read_experts<&costmodel::MoeSpec::groups>},
    {[](S s) { return only_if(grouped_experts(s), s.model.moe.top_groups); },
     {"--moe-router-group-topk", kNone, kNone, kNone, "model.moe_router_group_topk", "topk_routing_group"},
     read_experts<&costmodel::MoeSpec::top_groups>},
    {[](S s) {
       return only_if(s.model.is_moe() && s.model.moe.weight_factor != 1, s.model.moe.weight_factor);
     },
     {"--moe-router-topk-scaling-factor", kNone, kNone, kNone, "model.moe_router_topk_scaling_factor",
      "routed_scaling_factor"},
     [](V v, R r) {
       r.plan.model.moe.weight_factor = v.number({0, 1e6});
     }},
    {[](S s) { return when(s.model.moe.router_correction); },
     {"--moe-router-enable-expert-bias", kNone, kNone, kNone, "model.moe_router_enable_expert_bias",
      "routed_bias"},
     [](V v, R r) { r.plan.model.moe.router_correction = v.boolean(); }},
    {balance_kind,
     {"--moe-router-load-balancing-type", kNone, kNone, kNone, "model.moe_router_load_balancing_type"},
     read_kind_of_balance},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.balance_coefficient); },
     {"--moe-aux-loss-coeff", kNone, kNone, kNone, "model.moe_aux_loss_coeff", "load_balance_loss_weight"},
     [](V v, R r) {
       r.plan.model.moe.balance_coefficient = v.number({0, 1e6});
     }},
    {[](S s) { return only_if(s.model.is_moe(), "alltoall"); },
     {"--moe-token-dispatcher-type", "model.model_config.moe_config.token_dispatcher_type"}},
    {[](S s) { return when(groups_experts(s)); },
     {"--moe-grouped-gemm", kNone, kNone, kNone, "model.moe_grouped_gemm"}},
    {[](S s) { return only_if(limits_experts(s), s.recipe.routing.capacity_factor); },
     {"--moe-expert-capacity-factor", kNone, kNone, kNone, "model.moe_expert_capacity_factor"},
     [](V v, R r) {
       // Below zero: none (megatron/core/transformer/transformer_config.py).
       r.plan.recipe.routing.capacity_factor = std::max(0.0, v.number({-1e6, 1e6}));
     }},
    {[](S s) { return when(pads_experts(s)); },
     {"--moe-pad-expert-input-to-capacity", kNone, kNone, kNone, "model.moe_pad_expert_input_to_capacity"},
     [](V v, R r) { r.plan.recipe.routing.pad_to_capacity = v.boolean(); }},
};

}  // namespace

std::span<const LaunchField> decoder_fields() {
  return kModelSettings;
}

bool has_linear_bias(const costmodel::Scenario& s) {
  return s.model.mlp.bias || s.model.attention.output_bias || s.model.moe.expert_bias;
}

}  // namespace hexaplan::presets
