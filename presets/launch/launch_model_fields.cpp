#include <algorithm>
#include <string>

#include "costmodel/spec/stage_plan.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

using costmodel::AttentionKind;
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
      {costmodel::PositionKind::None, "none"}};
  return word_of(kWords, s.model.positions);
}
std::int64_t position_rows(S s) {
  return std::max(s.model.max_positions, s.recipe.sequence);
}

// Keys: Megatron-LM, nanotron, torchtitan, DeepSpeed; their sources stand in launch_formats().
constexpr LaunchField kModelSettings[] = {
    // The model.
    {[](S s) { return when(!s.model.is_moe()); }, {kNone, "model.model_config.is_llama_config"}},
    {[](S s) { return when(s.model.is_moe()); }, {kNone, "model.model_config.is_qwen2_config"}},
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
    {[](S s) { return when(s.model.mlp.gated); }, {"--swiglu"}},
    {[](S s) { return when(!s.model.mlp.bias); }, {"--disable-bias-linear"}},
    {[](S s) { return when(s.model.attention.qkv_bias && !s.model.mlp.bias); }, {"--add-qkv-bias"}},
    {[](S s) { return when(s.model.attention.qk_norm); }, {"--qk-layernorm"}},
    {positions, {"--position-embedding-type"}},
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
    {[](S s) { return only_if(s.model.is_moe(), "alltoall"); },
     {"--moe-token-dispatcher-type", "model.model_config.moe_config.token_dispatcher_type"}},
    {[](S s) { return when(s.model.is_moe()); }, {"--moe-grouped-gemm"}},
    {[](S s) { return only_if(s.recipe.routing.capacity_factor > 0, s.recipe.routing.capacity_factor); },
     {"--moe-expert-capacity-factor"}},
};

}  // namespace

std::span<const LaunchField> launch_model_fields() {
  return kModelSettings;
}

}  // namespace hexaplan::presets
