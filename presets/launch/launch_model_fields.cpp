#include <algorithm>
#include <cmath>
#include <string>

#include "costmodel/spec/stage_plan.h"
#include "presets/launch/launch_fields.h"
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
bool latent(S s) {
  return s.model.attention.kind == AttentionKind::Latent;
}
bool grouped(S s) {
  return !latent(s) && s.model.attention.kv_heads < s.model.attention.heads;
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

bool rotary(S s) {
  return s.model.positions == PositionKind::Rotary;
}
/// As Megatron-LM's --use-rope-scaling has it, whose other numbers are not arguments
/// (core_v0.15.3 megatron/core/models/common/embeddings/rotary_pos_embedding.py, _apply_scaling).
bool scaled_like_llama3(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  return rotary(s) && r.scaling == RopeScaling::Llama3 && r.low_frequency == 1 && r.high_frequency == 4 &&
         r.original_positions == 8192;
}
bool scaled_linearly(S s) {
  return rotary(s) && s.model.rotary.scaling == RopeScaling::Linear &&
         s.model.rotary.factor == std::floor(s.model.rotary.factor);
}
/// Latent attention alone has YaRN among the arguments.
bool latent_yarn(S s) {
  return latent(s) && s.model.rotary.scaling == RopeScaling::Yarn;
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
  return latent(s) ? "seq_aux_loss" : "aux_loss";
}

// Keys: Megatron-LM, nanotron, torchtitan, DeepSpeed; their sources stand in launch_formats().
constexpr LaunchField kModelSettings[] = {
    // The model.
    {[](S s) { return when(!s.model.attention.qkv_bias); }, {kNone, "model.model_config.is_llama_config"}},
    {[](S s) { return when(s.model.attention.qkv_bias); }, {kNone, "model.model_config.is_qwen2_config"}},
    {[](S s) { return when(s.model.attention.qkv_bias); }, {kNone, "model.model_config.attention_bias"}},
    {[](S s) -> JsonValue { return s.model.layers; },
     {"--num-layers", "model.model_config.num_hidden_layers"}},
    {[](S s) -> JsonValue { return s.model.hidden; }, {"--hidden-size", "model.model_config.hidden_size"}},
    {[](S s) -> JsonValue { return s.model.mlp.ffn; },
     {"--ffn-hidden-size", "model.model_config.intermediate_size"}},
    {[](S s) -> JsonValue { return s.model.attention.heads; },
     {"--num-attention-heads", "model.model_config.num_attention_heads"}},
    {[](S s) -> JsonValue { return s.model.attention.kv_heads; },
     {kNone, "model.model_config.num_key_value_heads"}},
    {[](S s) { return when(grouped(s)); }, {"--group-query-attention"}},
    {[](S s) { return only_if(grouped(s), s.model.attention.kv_heads); }, {"--num-query-groups"}},
    {[](S s) { return only_if(!latent(s), s.model.attention.head_dim); }, {"--kv-channels"}},
    {[](S s) { return when(latent(s)); }, {"--multi-latent-attention"}},
    {[](S s) {
       return only_if(latent(s) && s.model.attention.q_lora_rank > 0, s.model.attention.q_lora_rank);
     },
     {"--q-lora-rank"}},
    {[](S s) { return only_if(latent(s), s.model.attention.kv_lora_rank); }, {"--kv-lora-rank"}},
    {[](S s) { return only_if(latent(s), s.model.attention.qk_nope_dim); }, {"--qk-head-dim"}},
    {[](S s) { return only_if(latent(s), s.model.attention.qk_rope_dim); }, {"--qk-pos-emb-head-dim"}},
    {[](S s) { return only_if(latent(s), s.model.attention.v_head_dim); }, {"--v-head-dim"}},
    {[](S s) -> JsonValue { return s.model.norm == costmodel::NormKind::Rms ? "RMSNorm" : "LayerNorm"; },
     {"--normalization"}},
    {[](S s) -> JsonValue { return s.model.norm_epsilon; },
     {"--norm-epsilon", "model.model_config.rms_norm_eps"}},
    {[](S s) { return when(s.model.zero_centered_norm); }, {"--apply-layernorm-1p"}},
    {[](S s) { return when(s.model.mlp.gated && is_silu(s)); }, {"--swiglu"}},
    {[](S s) { return when(quick_gate(s)); }, {"--quick-geglu"}},
    {[](S s) {
       return when(!s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::ReluSquared);
     },
     {"--squared-relu"}},
    {[](S s) { return only_if(s.model.mlp.clamp > 0, s.model.mlp.clamp); },
     {"--activation-func-clamp-value"}},
    {[](S s) { return only_if(s.model.mlp.clamp > 0, 1.0); }, {"--glu-linear-offset"}},
    // Its fused bias and GELU is the approximation by tanh (megatron/core/fusions/fused_bias_gelu.py).
    {[](S s) {
       return when(!s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::Gelu &&
                   s.model.mlp.gelu == costmodel::GeluForm::Exact && has_linear_bias(s));
     },
     {"--no-bias-gelu-fusion"}},
    {[](S s) { return when(!has_linear_bias(s)); }, {"--disable-bias-linear"}},
    {[](S s) { return when(s.model.attention.qkv_bias && !has_linear_bias(s)); }, {"--add-qkv-bias"}},
    // Latent attention norms its compressed queries and keys.
    {[](S s) { return when(s.model.attention.qk_norm || latent(s)); }, {"--qk-layernorm"}},
    {[](S s) { return only_if(s.model.attention.sinks, "learnable"); }, {"--softmax-type"}},
    {window, {"--window-size"}},
    {windowed_layers, {"--window-attn-skip-freq"}},
    {positions, {"--position-embedding-type"}},
    {[](S s) { return only_if(rotary(s), std::lround(s.model.rotary.base)); }, {"--rotary-base"}},
    {[](S s) { return only_if(rotary(s), s.model.rotary.base); }, {kNone, "model.model_config.rope_theta"}},
    {[](S s) { return only_if(rotary(s), false); }, {kNone, "model.model_config.rope_interleaved"}},
    {[](S s) { return only_if(rotary(s) && s.model.rotary.share < 1, s.model.rotary.share); },
     {"--rotary-percent"}},
    // Latent attention reorders columns itself.
    {[](S s) { return when(rotary(s) && s.model.rotary.interleaved && !latent(s)); },
     {"--rotary-interleaved"}},
    {[](S s) { return when(scaled_like_llama3(s)); }, {"--use-rope-scaling"}},
    {[](S s) { return only_if(scaled_like_llama3(s), s.model.rotary.factor); }, {"--rope-scaling-factor"}},
    {[](S s) { return only_if(scaled_linearly(s), std::lround(s.model.rotary.factor)); },
     {"--rotary-seq-len-interpolation-factor"}},
    {[](S s) { return only_if(latent(s), latent_yarn(s) ? "yarn" : "rope"); }, {"--rope-type"}},
    {[](S s) { return only_if(latent_yarn(s), s.model.rotary.factor); }, {"--rotary-scaling-factor"}},
    {[](S s) { return only_if(s.model.attention.window > 0, s.model.attention.window); },
     {kNone, "model.model_config.sliding_window_size"}},
    {[](S s) -> JsonValue { return position_rows(s); },
     {"--max-position-embeddings", "model.model_config.max_position_embeddings"}},
    {[](S s) -> JsonValue { return s.model.vocab; }, {"--vocab-size", "model.model_config.vocab_size"}},
    {[](S s) -> JsonValue { return s.framework.vocab_multiple; },
     {"--make-vocab-size-divisible-by", "model.make_vocab_size_divisible_by"}},
    {[](S s) { return when(!s.model.tied_embeddings); }, {"--untie-embeddings-and-output-weights"}},
    {[](S s) -> JsonValue { return s.model.tied_embeddings; },
     {kNone, "model.model_config.tie_word_embeddings"}},
    {[](S s) { return only_if(s.model.mtp_layers > 0, s.model.mtp_layers); }, {"--mtp-num-layers"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.experts); },
     {"--num-experts", "model.model_config.moe_config.num_experts"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.top_k); },
     {"--moe-router-topk", "model.model_config.moe_config.top_k"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.expert_ffn); }, {"--moe-ffn-hidden-size"}},
    {[](S s) { return only_if(s.model.moe.shared_ffn > 0, s.model.moe.shared_ffn); },
     {"--moe-shared-expert-intermediate-size"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.shared_ffn > 0); },
     {kNone, "model.model_config.moe_config.enable_shared_expert"}},
    {expert_layers, {"--moe-layer-freq"}},
    {[](S s) {
       return only_if(s.model.is_moe(), s.model.moe.score == RouterScore::Sigmoid ? "sigmoid" : "softmax");
     },
     {"--moe-router-score-function"}},
    {[](S s) { return when(softmax_of_all(s)); }, {"--moe-router-pre-softmax"}},
    {[](S s) { return only_if(grouped_experts(s), s.model.moe.groups); }, {"--moe-router-num-groups"}},
    {[](S s) { return only_if(grouped_experts(s), s.model.moe.top_groups); }, {"--moe-router-group-topk"}},
    {[](S s) {
       return only_if(s.model.is_moe() && s.model.moe.weight_factor != 1, s.model.moe.weight_factor);
     },
     {"--moe-router-topk-scaling-factor"}},
    {[](S s) { return when(s.model.moe.router_correction); }, {"--moe-router-enable-expert-bias"}},
    {balance_kind, {"--moe-router-load-balancing-type"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.balance_coefficient); },
     {"--moe-aux-loss-coeff"}},
    {[](S s) { return only_if(s.model.is_moe(), "alltoall"); },
     {"--moe-token-dispatcher-type", "model.model_config.moe_config.token_dispatcher_type"}},
    // validate_args knows grouped products in bf16 alone.
    {[](S s) {
       return when(s.model.is_moe() && costmodel::activation_dtype(s.recipe.precision) == DType::Bf16);
     },
     {"--moe-grouped-gemm"}},
    {[](S s) { return only_if(s.recipe.routing.capacity_factor > 0, s.recipe.routing.capacity_factor); },
     {"--moe-expert-capacity-factor"}},
};

}  // namespace

std::span<const LaunchField> launch_model_fields() {
  return kModelSettings;
}

bool has_linear_bias(const costmodel::Scenario& s) {
  return s.model.mlp.bias || s.model.attention.output_bias || s.model.moe.expert_bias;
}

}  // namespace hexaplan::presets
