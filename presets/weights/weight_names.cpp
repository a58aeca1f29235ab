#include "presets/weights/weight_names.h"

#include <algorithm>
#include <vector>

// Names: what save_pretrained of huggingface/transformers v5.23.0 writes for each model_type; the lists of
// tensors in tests/golden/transformers hold these tables to it.
namespace hexaplan::presets {
namespace {

using Table = std::span<const CheckpointTensor>;

/// A parameter that a checkpoint has under a name of its own.
constexpr CheckpointTensor whole(std::string_view name, std::string_view tensor) {
  return {.name = name, .blocks = {{{tensor}}}};
}
/// Upper or lower half of a parameter.
constexpr CheckpointTensor half(std::string_view name, std::string_view tensor, int block) {
  return {.name = name, .blocks = {{{tensor, block, 2}}}};
}
constexpr std::array<ParameterBlock, 3> query_key_value(std::string_view query, std::string_view key_value) {
  return {{{query}, {key_value, 0, 2}, {key_value, 1, 2}}};
}
constexpr auto kQkv = query_key_value("attention.query.weight", "attention.key_value.weight");
constexpr auto kQkvBias = query_key_value("attention.query.bias", "attention.key_value.bias");
constexpr std::array<ParameterBlock, 3> gate_up(std::string_view tensor) {
  return {{{tensor, 0, 2}, {tensor, 1, 2}}};
}

// --- The Llama lineage -----------------------------------------------------------------------------------

constexpr CheckpointTensor kModel[] = {
    whole("model.embed_tokens.weight", "embedding.word.weight"),
    whole("lm_head.weight", "head.weight"),
    whole("lm_head.bias", "head.bias"),
};
constexpr CheckpointTensor kFinalNorm[] = {
    whole("model.norm.weight", "final_norm.weight"),
    whole("model.norm.bias", "final_norm.bias"),
};
constexpr CheckpointTensor kTwoNorms[] = {
    whole("model.layers.{l}.input_layernorm.weight", "norm1.weight"),
    whole("model.layers.{l}.input_layernorm.bias", "norm1.bias"),
    whole("model.layers.{l}.post_attention_layernorm.weight", "norm2.weight"),
    whole("model.layers.{l}.post_attention_layernorm.bias", "norm2.bias"),
};
constexpr CheckpointTensor kGemmaNorms[] = {
    whole("model.layers.{l}.input_layernorm.weight", "norm1.weight"),
    whole("model.layers.{l}.post_attention_layernorm.weight", "attention_post_norm.weight"),
    whole("model.layers.{l}.pre_feedforward_layernorm.weight", "norm2.weight"),
    whole("model.layers.{l}.post_feedforward_layernorm.weight", "mlp_post_norm.weight"),
};
constexpr CheckpointTensor kGlm4Norms[] = {
    whole("model.layers.{l}.input_layernorm.weight", "norm1.weight"),
    whole("model.layers.{l}.post_self_attn_layernorm.weight", "attention_post_norm.weight"),
    whole("model.layers.{l}.post_attention_layernorm.weight", "norm2.weight"),
    whole("model.layers.{l}.post_mlp_layernorm.weight", "mlp_post_norm.weight"),
};
/// Behind attention and MLP (OLMo-2, EXAONE-4).
constexpr CheckpointTensor kNormsBehind[] = {
    whole("model.layers.{l}.post_attention_layernorm.weight", "attention_post_norm.weight"),
    whole("model.layers.{l}.post_feedforward_layernorm.weight", "mlp_post_norm.weight"),
};
constexpr CheckpointTensor kHyperClovaNorms[] = {
    whole("model.layers.{l}.input_layernorm.weight", "norm1.weight"),
    whole("model.layers.{l}.post_norm1.weight", "attention_post_norm.weight"),
    whole("model.layers.{l}.post_attention_layernorm.weight", "norm2.weight"),
    whole("model.layers.{l}.post_norm2.weight", "mlp_post_norm.weight"),
};
constexpr CheckpointTensor kVaultGemmaNorms[] = {
    whole("model.layers.{l}.input_layernorm.weight", "norm1.weight"),
    whole("model.layers.{l}.pre_feedforward_layernorm.weight", "norm2.weight"),
};
constexpr CheckpointTensor kAttention[] = {
    whole("model.layers.{l}.self_attn.q_proj.weight", "attention.query.weight"),
    half("model.layers.{l}.self_attn.k_proj.weight", "attention.key_value.weight", 0),
    half("model.layers.{l}.self_attn.v_proj.weight", "attention.key_value.weight", 1),
    whole("model.layers.{l}.self_attn.q_proj.bias", "attention.query.bias"),
    half("model.layers.{l}.self_attn.k_proj.bias", "attention.key_value.bias", 0),
    half("model.layers.{l}.self_attn.v_proj.bias", "attention.key_value.bias", 1),
    whole("model.layers.{l}.self_attn.q_norm.weight", "attention.query_norm.weight"),
    whole("model.layers.{l}.self_attn.k_norm.weight", "attention.key_norm.weight"),
};
constexpr CheckpointTensor kSinks[] = {
    whole("model.layers.{l}.self_attn.sinks", "attention.sinks"),
};
constexpr CheckpointTensor kFlintSinks[] = {
    whole("model.layers.{l}.self_attn.softmax_offset", "attention.sinks"),
};
/// Sarvam's own names.
constexpr CheckpointTensor kSarvamModel[] = {
    whole("model.word_embeddings.weight", "embedding.word.weight"),
    whole("lm_head.weight", "head.weight"),
};
constexpr CheckpointTensor kSarvamAttention[] = {
    {.name = "model.layers.{l}.attention.query_key_value.weight", .blocks = kQkv},
    {.name = "model.layers.{l}.attention.query_key_value.bias", .blocks = kQkvBias},
    whole("model.layers.{l}.attention.query_layernorm.weight", "attention.query_norm.weight"),
    whole("model.layers.{l}.attention.key_layernorm.weight", "attention.key_norm.weight"),
    whole("model.layers.{l}.attention.dense.weight", "attention.output.weight"),
};
constexpr CheckpointTensor kOutput[] = {
    whole("model.layers.{l}.self_attn.o_proj.weight", "attention.output.weight"),
    whole("model.layers.{l}.self_attn.o_proj.bias", "attention.output.bias"),
};
constexpr CheckpointTensor kLatentAttention[] = {
    whole("model.layers.{l}.self_attn.q_proj.weight", "attention.query.weight"),
    whole("model.layers.{l}.self_attn.q_a_proj.weight", "attention.query_down.weight"),
    whole("model.layers.{l}.self_attn.q_a_proj.bias", "attention.query_down.bias"),
    whole("model.layers.{l}.self_attn.q_a_layernorm.weight", "attention.query_down_norm.weight"),
    whole("model.layers.{l}.self_attn.q_b_proj.weight", "attention.query_up.weight"),
    whole("model.layers.{l}.self_attn.kv_a_proj_with_mqa.weight", "attention.key_value_down.weight"),
    whole("model.layers.{l}.self_attn.kv_a_proj_with_mqa.bias", "attention.key_value_down.bias"),
    whole("model.layers.{l}.self_attn.kv_a_layernorm.weight", "attention.key_value_down_norm.weight"),
    whole("model.layers.{l}.self_attn.kv_b_proj.weight", "attention.key_value_up.weight"),
};
/// Multi-token prediction, behind the last layer (deepseek-ai/DeepSeek-V3 README_WEIGHTS.md: embedding and
/// output head are shared with the main model); transformers leaves these modules out.
constexpr CheckpointTensor kNextTokens[] = {
    whole("model.layers.{l}.enorm.weight", "mtp.embedding_norm.weight"),
    whole("model.layers.{l}.hnorm.weight", "mtp.hidden_norm.weight"),
    whole("model.layers.{l}.eh_proj.weight", "mtp.projection.weight"),
    whole("model.layers.{l}.shared_head.norm.weight", "mtp.final_norm.weight"),
    {.name = "model.layers.{l}.embed_tokens.weight", .blocks = {}, .copy_of = "model.embed_tokens.weight"},
    {.name = "model.layers.{l}.shared_head.head.weight", .blocks = {}, .copy_of = "lm_head.weight"},
};
constexpr CheckpointTensor kPhi3Attention[] = {
    {.name = "model.layers.{l}.self_attn.qkv_proj.weight", .blocks = kQkv},
};
constexpr CheckpointTensor kMlp[] = {
    half("model.layers.{l}.mlp.gate_proj.weight", "mlp.gate_up.weight", 0),
    half("model.layers.{l}.mlp.up_proj.weight", "mlp.gate_up.weight", 1),
    half("model.layers.{l}.mlp.gate_proj.bias", "mlp.gate_up.bias", 0),
    half("model.layers.{l}.mlp.up_proj.bias", "mlp.gate_up.bias", 1),
    whole("model.layers.{l}.mlp.down_proj.weight", "mlp.down.weight"),
    whole("model.layers.{l}.mlp.down_proj.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kPlainMlp[] = {
    whole("model.layers.{l}.mlp.up_proj.weight", "mlp.up.weight"),
    whole("model.layers.{l}.mlp.up_proj.bias", "mlp.up.bias"),
    whole("model.layers.{l}.mlp.down_proj.weight", "mlp.down.weight"),
    whole("model.layers.{l}.mlp.down_proj.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kFusedMlp[] = {
    {.name = "model.layers.{l}.mlp.gate_up_proj.weight", .blocks = gate_up("mlp.gate_up.weight")},
    whole("model.layers.{l}.mlp.down_proj.weight", "mlp.down.weight"),
};

// --- Experts ---------------------------------------------------------------------------------------------

constexpr CheckpointTensor kExperts[] = {
    whole("model.layers.{l}.mlp.gate.weight", "moe.router.weight"),
    half("model.layers.{l}.mlp.experts.{e}.gate_proj.weight", "moe.experts.gate_up.weight", 0),
    half("model.layers.{l}.mlp.experts.{e}.up_proj.weight", "moe.experts.gate_up.weight", 1),
    whole("model.layers.{l}.mlp.experts.{e}.down_proj.weight", "moe.experts.down.weight"),
};
constexpr CheckpointTensor kGateCorrection[] = {
    whole("model.layers.{l}.mlp.gate.e_score_correction_bias", "moe.router.correction_bias"),
};
constexpr CheckpointTensor kSarvamCorrection[] = {
    whole("model.layers.{l}.mlp.gate.expert_bias", "moe.router.correction_bias"),
};
constexpr CheckpointTensor kMlpCorrection[] = {
    whole("model.layers.{l}.mlp.e_score_correction_bias", "moe.router.correction_bias"),
};
constexpr CheckpointTensor kSharedExperts[] = {
    half("model.layers.{l}.mlp.shared_experts.gate_proj.weight", "moe.shared.gate_up.weight", 0),
    half("model.layers.{l}.mlp.shared_experts.up_proj.weight", "moe.shared.gate_up.weight", 1),
    whole("model.layers.{l}.mlp.shared_experts.down_proj.weight", "moe.shared.down.weight"),
};
constexpr CheckpointTensor kGatedSharedExpert[] = {
    half("model.layers.{l}.mlp.shared_expert.gate_proj.weight", "moe.shared.gate_up.weight", 0),
    half("model.layers.{l}.mlp.shared_expert.up_proj.weight", "moe.shared.gate_up.weight", 1),
    whole("model.layers.{l}.mlp.shared_expert.down_proj.weight", "moe.shared.down.weight"),
    whole("model.layers.{l}.mlp.shared_expert_gate.weight", "moe.shared.gate.weight"),
};
constexpr CheckpointTensor kHyV3Experts[] = {
    whole("model.layers.{l}.mlp.router.gate.weight", "moe.router.weight"),
    whole("model.layers.{l}.mlp.expert_bias", "moe.router.correction_bias"),
    half("model.layers.{l}.mlp.experts.{e}.gate_proj.weight", "moe.experts.gate_up.weight", 0),
    half("model.layers.{l}.mlp.experts.{e}.up_proj.weight", "moe.experts.gate_up.weight", 1),
    whole("model.layers.{l}.mlp.experts.{e}.down_proj.weight", "moe.experts.down.weight"),
    half("model.layers.{l}.mlp.shared_mlp.gate_proj.weight", "moe.shared.gate_up.weight", 0),
    half("model.layers.{l}.mlp.shared_mlp.up_proj.weight", "moe.shared.gate_up.weight", 1),
    whole("model.layers.{l}.mlp.shared_mlp.down_proj.weight", "moe.shared.down.weight"),
};
/// MiniMax has the correction, too.
constexpr CheckpointTensor kMixtralExperts[] = {
    whole("model.layers.{l}.block_sparse_moe.e_score_correction_bias", "moe.router.correction_bias"),
    whole("model.layers.{l}.block_sparse_moe.gate.weight", "moe.router.weight"),
    half("model.layers.{l}.block_sparse_moe.experts.{e}.w1.weight", "moe.experts.gate_up.weight", 0),
    half("model.layers.{l}.block_sparse_moe.experts.{e}.w3.weight", "moe.experts.gate_up.weight", 1),
    whole("model.layers.{l}.block_sparse_moe.experts.{e}.w2.weight", "moe.experts.down.weight"),
};
/// All experts in one tensor, gate above up.
constexpr CheckpointTensor kGraniteExperts[] = {
    whole("model.layers.{l}.block_sparse_moe.router.layer.weight", "moe.router.weight"),
    {.name = "model.layers.{l}.block_sparse_moe.input_linear.weight",
     .blocks = gate_up("moe.experts.gate_up.weight")},
    whole("model.layers.{l}.block_sparse_moe.output_linear.weight", "moe.experts.down.weight"),
    {.name = "model.layers.{l}.shared_mlp.input_linear.weight",
     .blocks = gate_up("moe.shared.gate_up.weight")},
    whole("model.layers.{l}.shared_mlp.output_linear.weight", "moe.shared.down.weight"),
};
/// Gate and up alternate, and every expert's matrix is stored with its inputs first.
constexpr CheckpointTensor kGptOssExperts[] = {
    whole("model.layers.{l}.mlp.router.weight", "moe.router.weight"),
    whole("model.layers.{l}.mlp.router.bias", "moe.router.bias"),
    {.name = "model.layers.{l}.mlp.experts.gate_up_proj",
     .blocks = gate_up("moe.experts.gate_up.weight"),
     .groups = Groups::Rows,
     .transposed = true},
    {.name = "model.layers.{l}.mlp.experts.gate_up_proj_bias",
     .blocks = gate_up("moe.experts.gate_up.bias"),
     .groups = Groups::Rows},
    {.name = "model.layers.{l}.mlp.experts.down_proj",
     .blocks = {{{"moe.experts.down.weight"}}},
     .transposed = true},
    whole("model.layers.{l}.mlp.experts.down_proj_bias", "moe.experts.down.bias"),
};

// --- Families with names of their own --------------------------------------------------------------------

constexpr CheckpointTensor kPhi[] = {
    whole("model.final_layernorm.weight", "final_norm.weight"),
    whole("model.final_layernorm.bias", "final_norm.bias"),
    whole("model.layers.{l}.self_attn.dense.weight", "attention.output.weight"),
    whole("model.layers.{l}.self_attn.dense.bias", "attention.output.bias"),
    whole("model.layers.{l}.mlp.fc1.weight", "mlp.up.weight"),
    whole("model.layers.{l}.mlp.fc1.bias", "mlp.up.bias"),
    whole("model.layers.{l}.mlp.fc2.weight", "mlp.down.weight"),
    whole("model.layers.{l}.mlp.fc2.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kStarcoder2Mlp[] = {
    whole("model.layers.{l}.mlp.c_fc.weight", "mlp.up.weight"),
    whole("model.layers.{l}.mlp.c_fc.bias", "mlp.up.bias"),
    whole("model.layers.{l}.mlp.c_proj.weight", "mlp.down.weight"),
    whole("model.layers.{l}.mlp.c_proj.bias", "mlp.down.bias"),
};
/// Word and position embedding, norms and output layer of GPT-2 and what follows it.
constexpr CheckpointTensor kTransformer[] = {
    whole("transformer.wte.weight", "embedding.word.weight"),
    whole("transformer.wpe.weight", "embedding.position.weight"),
    whole("transformer.ln_f.weight", "final_norm.weight"),
    whole("transformer.ln_f.bias", "final_norm.bias"),
    whole("transformer.h.{l}.ln_1.weight", "norm1.weight"),
    whole("transformer.h.{l}.ln_1.bias", "norm1.bias"),
    whole("transformer.h.{l}.ln_2.weight", "norm2.weight"),
    whole("transformer.h.{l}.ln_2.bias", "norm2.bias"),
    whole("lm_head.weight", "head.weight"),
    whole("lm_head.bias", "head.bias"),
};
constexpr CheckpointTensor kGptBiases[] = {
    whole("transformer.h.{l}.attn.c_proj.bias", "attention.output.bias"),
    whole("transformer.h.{l}.mlp.c_fc.bias", "mlp.up.bias"),
    whole("transformer.h.{l}.mlp.c_proj.bias", "mlp.down.bias"),
};
/// Its linear layers are one-dimensional convolutions: input features first.
constexpr CheckpointTensor kGpt2Layer[] = {
    {.name = "transformer.h.{l}.attn.c_attn.weight", .blocks = kQkv, .transposed = true},
    {.name = "transformer.h.{l}.attn.c_attn.bias", .blocks = kQkvBias},
    {.name = "transformer.h.{l}.attn.c_proj.weight",
     .blocks = {{{"attention.output.weight"}}},
     .transposed = true},
    {.name = "transformer.h.{l}.mlp.c_fc.weight", .blocks = {{{"mlp.up.weight"}}}, .transposed = true},
    {.name = "transformer.h.{l}.mlp.c_proj.weight", .blocks = {{{"mlp.down.weight"}}}, .transposed = true},
};
constexpr CheckpointTensor kOpenAiGpt[] = {
    whole("transformer.tokens_embed.weight", "embedding.word.weight"),
    whole("transformer.positions_embed.weight", "embedding.position.weight"),
    whole("transformer.h.{l}.ln_1.weight", "norm1.weight"),
    whole("transformer.h.{l}.ln_1.bias", "norm1.bias"),
    whole("transformer.h.{l}.ln_2.weight", "norm2.weight"),
    whole("transformer.h.{l}.ln_2.bias", "norm2.bias"),
    whole("lm_head.weight", "head.weight"),
};
constexpr CheckpointTensor kGptNeoLayer[] = {
    whole("transformer.h.{l}.attn.attention.q_proj.weight", "attention.query.weight"),
    half("transformer.h.{l}.attn.attention.k_proj.weight", "attention.key_value.weight", 0),
    half("transformer.h.{l}.attn.attention.v_proj.weight", "attention.key_value.weight", 1),
    whole("transformer.h.{l}.attn.attention.out_proj.weight", "attention.output.weight"),
    whole("transformer.h.{l}.attn.attention.out_proj.bias", "attention.output.bias"),
    whole("transformer.h.{l}.mlp.c_fc.weight", "mlp.up.weight"),
    whole("transformer.h.{l}.mlp.c_fc.bias", "mlp.up.bias"),
    whole("transformer.h.{l}.mlp.c_proj.weight", "mlp.down.weight"),
    whole("transformer.h.{l}.mlp.c_proj.bias", "mlp.down.bias"),
};
/// EXAONE 3: Llama's layer under names that began as GPT-2's.
constexpr CheckpointTensor kExaone[] = {
    whole("transformer.wte.weight", "embedding.word.weight"),
    whole("transformer.ln_f.weight", "final_norm.weight"),
    whole("lm_head.weight", "head.weight"),
    whole("transformer.h.{l}.ln_1.weight", "norm1.weight"),
    whole("transformer.h.{l}.ln_2.weight", "norm2.weight"),
    whole("transformer.h.{l}.attn.attention.q_proj.weight", "attention.query.weight"),
    half("transformer.h.{l}.attn.attention.k_proj.weight", "attention.key_value.weight", 0),
    half("transformer.h.{l}.attn.attention.v_proj.weight", "attention.key_value.weight", 1),
    whole("transformer.h.{l}.attn.attention.q_proj.bias", "attention.query.bias"),
    half("transformer.h.{l}.attn.attention.k_proj.bias", "attention.key_value.bias", 0),
    half("transformer.h.{l}.attn.attention.v_proj.bias", "attention.key_value.bias", 1),
    whole("transformer.h.{l}.attn.attention.out_proj.weight", "attention.output.weight"),
    whole("transformer.h.{l}.attn.attention.out_proj.bias", "attention.output.bias"),
    half("transformer.h.{l}.mlp.c_fc_0.weight", "mlp.gate_up.weight", 0),
    half("transformer.h.{l}.mlp.c_fc_1.weight", "mlp.gate_up.weight", 1),
    half("transformer.h.{l}.mlp.c_fc_0.bias", "mlp.gate_up.bias", 0),
    half("transformer.h.{l}.mlp.c_fc_1.bias", "mlp.gate_up.bias", 1),
    whole("transformer.h.{l}.mlp.c_proj.weight", "mlp.down.weight"),
    whole("transformer.h.{l}.mlp.c_proj.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kGptBigcodeLayer[] = {
    {.name = "transformer.h.{l}.attn.c_attn.weight", .blocks = kQkv, .groups = Groups::KvHeads},
    {.name = "transformer.h.{l}.attn.c_attn.bias", .blocks = kQkvBias, .groups = Groups::KvHeads},
    whole("transformer.h.{l}.attn.c_proj.weight", "attention.output.weight"),
    whole("transformer.h.{l}.mlp.c_fc.weight", "mlp.up.weight"),
    whole("transformer.h.{l}.mlp.c_proj.weight", "mlp.down.weight"),
};
constexpr CheckpointTensor kGptjLayer[] = {
    whole("transformer.h.{l}.attn.q_proj.weight", "attention.query.weight"),
    half("transformer.h.{l}.attn.k_proj.weight", "attention.key_value.weight", 0),
    half("transformer.h.{l}.attn.v_proj.weight", "attention.key_value.weight", 1),
    whole("transformer.h.{l}.attn.out_proj.weight", "attention.output.weight"),
    whole("transformer.h.{l}.mlp.fc_in.weight", "mlp.up.weight"),
    whole("transformer.h.{l}.mlp.fc_in.bias", "mlp.up.bias"),
    whole("transformer.h.{l}.mlp.fc_out.weight", "mlp.down.weight"),
    whole("transformer.h.{l}.mlp.fc_out.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kGptNeox[] = {
    whole("gpt_neox.embed_in.weight", "embedding.word.weight"),
    whole("gpt_neox.final_layer_norm.weight", "final_norm.weight"),
    whole("gpt_neox.final_layer_norm.bias", "final_norm.bias"),
    {.name = "embed_out.weight", .blocks = {{{"head.weight"}}}, .module = "lm_head"},
    whole("gpt_neox.layers.{l}.input_layernorm.weight", "norm1.weight"),
    whole("gpt_neox.layers.{l}.input_layernorm.bias", "norm1.bias"),
    whole("gpt_neox.layers.{l}.post_attention_layernorm.weight", "norm2.weight"),
    whole("gpt_neox.layers.{l}.post_attention_layernorm.bias", "norm2.bias"),
    {.name = "gpt_neox.layers.{l}.attention.query_key_value.weight",
     .blocks = kQkv,
     .groups = Groups::KvHeads},
    {.name = "gpt_neox.layers.{l}.attention.query_key_value.bias",
     .blocks = kQkvBias,
     .groups = Groups::KvHeads},
    whole("gpt_neox.layers.{l}.attention.dense.weight", "attention.output.weight"),
    whole("gpt_neox.layers.{l}.attention.dense.bias", "attention.output.bias"),
    whole("gpt_neox.layers.{l}.mlp.dense_h_to_4h.weight", "mlp.up.weight"),
    whole("gpt_neox.layers.{l}.mlp.dense_h_to_4h.bias", "mlp.up.bias"),
    whole("gpt_neox.layers.{l}.mlp.dense_4h_to_h.weight", "mlp.down.weight"),
    whole("gpt_neox.layers.{l}.mlp.dense_4h_to_h.bias", "mlp.down.bias"),
};
/// BLOOM and Falcon, whose code began as BLOOM's.
constexpr CheckpointTensor kBloom[] = {
    whole("transformer.word_embeddings.weight", "embedding.word.weight"),
    whole("transformer.word_embeddings_layernorm.weight", "embedding.norm.weight"),
    whole("transformer.word_embeddings_layernorm.bias", "embedding.norm.bias"),
    whole("transformer.ln_f.weight", "final_norm.weight"),
    whole("transformer.ln_f.bias", "final_norm.bias"),
    whole("lm_head.weight", "head.weight"),
    {.name = "transformer.h.{l}.self_attention.query_key_value.weight",
     .blocks = kQkv,
     .groups = Groups::KvHeads},
    {.name = "transformer.h.{l}.self_attention.query_key_value.bias",
     .blocks = kQkvBias,
     .groups = Groups::KvHeads},
    whole("transformer.h.{l}.self_attention.dense.weight", "attention.output.weight"),
    whole("transformer.h.{l}.self_attention.dense.bias", "attention.output.bias"),
    whole("transformer.h.{l}.mlp.dense_h_to_4h.weight", "mlp.up.weight"),
    whole("transformer.h.{l}.mlp.dense_h_to_4h.bias", "mlp.up.bias"),
    whole("transformer.h.{l}.mlp.dense_4h_to_h.weight", "mlp.down.weight"),
    whole("transformer.h.{l}.mlp.dense_4h_to_h.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kBloomNorms[] = {
    whole("transformer.h.{l}.input_layernorm.weight", "norm1.weight"),
    whole("transformer.h.{l}.input_layernorm.bias", "norm1.bias"),
    whole("transformer.h.{l}.post_attention_layernorm.weight", "norm2.weight"),
    whole("transformer.h.{l}.post_attention_layernorm.bias", "norm2.bias"),
};
/// One norm for both halves of a layer, or one for each.
constexpr CheckpointTensor kFalconNorms[] = {
    {.name = "transformer.h.{l}.input_layernorm.weight",
     .blocks = {{{"norm1.weight"}}},
     .norms_per_layer = 1},
    {.name = "transformer.h.{l}.input_layernorm.bias", .blocks = {{{"norm1.bias"}}}, .norms_per_layer = 1},
    {.name = "transformer.h.{l}.ln_attn.weight", .blocks = {{{"norm1.weight"}}}, .norms_per_layer = 2},
    {.name = "transformer.h.{l}.ln_attn.bias", .blocks = {{{"norm1.bias"}}}, .norms_per_layer = 2},
    whole("transformer.h.{l}.ln_mlp.weight", "norm2.weight"),
    whole("transformer.h.{l}.ln_mlp.bias", "norm2.bias"),
};
constexpr CheckpointTensor kOpt[] = {
    whole("model.decoder.embed_tokens.weight", "embedding.word.weight"),
    whole("model.decoder.embed_positions.weight", "embedding.position.weight"),
    whole("model.decoder.final_layer_norm.weight", "final_norm.weight"),
    whole("model.decoder.final_layer_norm.bias", "final_norm.bias"),
    whole("lm_head.weight", "head.weight"),
    whole("model.decoder.layers.{l}.self_attn_layer_norm.weight", "norm1.weight"),
    whole("model.decoder.layers.{l}.self_attn_layer_norm.bias", "norm1.bias"),
    whole("model.decoder.layers.{l}.final_layer_norm.weight", "norm2.weight"),
    whole("model.decoder.layers.{l}.final_layer_norm.bias", "norm2.bias"),
    whole("model.decoder.layers.{l}.self_attn.q_proj.weight", "attention.query.weight"),
    half("model.decoder.layers.{l}.self_attn.k_proj.weight", "attention.key_value.weight", 0),
    half("model.decoder.layers.{l}.self_attn.v_proj.weight", "attention.key_value.weight", 1),
    whole("model.decoder.layers.{l}.self_attn.q_proj.bias", "attention.query.bias"),
    half("model.decoder.layers.{l}.self_attn.k_proj.bias", "attention.key_value.bias", 0),
    half("model.decoder.layers.{l}.self_attn.v_proj.bias", "attention.key_value.bias", 1),
    whole("model.decoder.layers.{l}.self_attn.out_proj.weight", "attention.output.weight"),
    whole("model.decoder.layers.{l}.self_attn.out_proj.bias", "attention.output.bias"),
    whole("model.decoder.layers.{l}.fc1.weight", "mlp.up.weight"),
    whole("model.decoder.layers.{l}.fc1.bias", "mlp.up.bias"),
    whole("model.decoder.layers.{l}.fc2.weight", "mlp.down.weight"),
    whole("model.decoder.layers.{l}.fc2.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kBioGpt[] = {
    whole("biogpt.embed_tokens.weight", "embedding.word.weight"),
    whole("biogpt.embed_positions.weight", "embedding.position.weight"),
    whole("biogpt.layer_norm.weight", "final_norm.weight"),
    whole("biogpt.layer_norm.bias", "final_norm.bias"),
    whole("output_projection.weight", "head.weight"),
    whole("biogpt.layers.{l}.self_attn_layer_norm.weight", "norm1.weight"),
    whole("biogpt.layers.{l}.self_attn_layer_norm.bias", "norm1.bias"),
    whole("biogpt.layers.{l}.final_layer_norm.weight", "norm2.weight"),
    whole("biogpt.layers.{l}.final_layer_norm.bias", "norm2.bias"),
    whole("biogpt.layers.{l}.self_attn.q_proj.weight", "attention.query.weight"),
    half("biogpt.layers.{l}.self_attn.k_proj.weight", "attention.key_value.weight", 0),
    half("biogpt.layers.{l}.self_attn.v_proj.weight", "attention.key_value.weight", 1),
    whole("biogpt.layers.{l}.self_attn.q_proj.bias", "attention.query.bias"),
    half("biogpt.layers.{l}.self_attn.k_proj.bias", "attention.key_value.bias", 0),
    half("biogpt.layers.{l}.self_attn.v_proj.bias", "attention.key_value.bias", 1),
    whole("biogpt.layers.{l}.self_attn.out_proj.weight", "attention.output.weight"),
    whole("biogpt.layers.{l}.self_attn.out_proj.bias", "attention.output.bias"),
    whole("biogpt.layers.{l}.fc1.weight", "mlp.up.weight"),
    whole("biogpt.layers.{l}.fc1.bias", "mlp.up.bias"),
    whole("biogpt.layers.{l}.fc2.weight", "mlp.down.weight"),
    whole("biogpt.layers.{l}.fc2.bias", "mlp.down.bias"),
};
constexpr CheckpointTensor kMpt[] = {
    whole("transformer.wte.weight", "embedding.word.weight"),
    whole("transformer.norm_f.weight", "final_norm.weight"),
    whole("lm_head.weight", "head.weight"),
    whole("transformer.blocks.{l}.norm_1.weight", "norm1.weight"),
    whole("transformer.blocks.{l}.norm_2.weight", "norm2.weight"),
    {.name = "transformer.blocks.{l}.attn.Wqkv.weight", .blocks = kQkv},
    whole("transformer.blocks.{l}.attn.out_proj.weight", "attention.output.weight"),
    whole("transformer.blocks.{l}.ffn.up_proj.weight", "mlp.up.weight"),
    whole("transformer.blocks.{l}.ffn.down_proj.weight", "mlp.down.weight"),
};

constexpr Table kLlamaTables[] = {kModel, kFinalNorm, kTwoNorms, kAttention, kSinks, kOutput, kMlp};
constexpr Table kGemma2Tables[] = {kModel, kFinalNorm, kGemmaNorms, kAttention, kOutput, kMlp};
constexpr Table kOlmoTables[] = {kModel, kAttention, kOutput, kMlp};
constexpr Table kOlmo2Tables[] = {kModel, kFinalNorm, kNormsBehind, kAttention, kOutput, kMlp};
constexpr Table kHyperClovaTables[] = {kModel, kFinalNorm, kHyperClovaNorms, kAttention, kOutput, kMlp};
constexpr Table kVaultGemmaTables[] = {kModel, kFinalNorm, kVaultGemmaNorms, kAttention, kOutput, kMlp};
constexpr Table kNemotronTables[] = {kModel, kFinalNorm, kTwoNorms, kAttention, kOutput, kPlainMlp};
constexpr Table kYoutuTables[] = {kModel, kFinalNorm, kTwoNorms, kLatentAttention, kOutput, kMlp};
constexpr Table kPhi3Tables[] = {kModel, kFinalNorm, kTwoNorms, kPhi3Attention, kOutput, kFusedMlp};
constexpr Table kGlmTables[] = {kModel, kFinalNorm, kTwoNorms, kAttention, kOutput, kFusedMlp};
constexpr Table kGlm4Tables[] = {kModel, kFinalNorm, kGlm4Norms, kAttention, kOutput, kFusedMlp};
constexpr Table kMixtralTables[] = {kModel, kFinalNorm, kTwoNorms, kAttention, kOutput, kMixtralExperts};
constexpr Table kMoeTables[] = {kModel, kFinalNorm, kTwoNorms,       kAttention,     kOutput,
                                kMlp,   kExperts,   kGateCorrection, kSharedExperts, kNextTokens};
constexpr Table kExaoneMoeTables[] = {kModel, kFinalNorm, kTwoNorms,      kAttention,    kOutput,
                                      kMlp,   kExperts,   kMlpCorrection, kSharedExperts};
constexpr Table kFlintTables[] = {kModel,  kFinalNorm, kTwoNorms, kAttention,        kFlintSinks,
                                  kOutput, kMlp,       kExperts,  kGatedSharedExpert};
constexpr Table kSarvamMoeTables[] = {kSarvamModel, kFinalNorm, kTwoNorms,         kSarvamAttention,
                                      kMlp,         kExperts,   kSarvamCorrection, kSharedExperts};
constexpr Table kExaoneTables[] = {kExaone};
constexpr Table kHyV3Tables[] = {kModel, kFinalNorm, kTwoNorms, kAttention, kOutput, kMlp, kHyV3Experts};
constexpr Table kQwen2MoeTables[] = {kModel,  kFinalNorm, kTwoNorms, kAttention,
                                     kOutput, kMlp,       kExperts,  kGatedSharedExpert};
constexpr Table kDeepseekTables[] = {kModel, kFinalNorm, kTwoNorms,       kLatentAttention, kOutput,
                                     kMlp,   kExperts,   kGateCorrection, kSharedExperts,   kNextTokens};
constexpr Table kGptOssTables[] = {kModel, kFinalNorm, kTwoNorms,     kAttention,
                                   kSinks, kOutput,    kGptOssExperts};
constexpr Table kGpt2Tables[] = {kTransformer, kGpt2Layer, kGptBiases};
constexpr Table kOpenAiGptTables[] = {kOpenAiGpt, kGpt2Layer, kGptBiases};
constexpr Table kGptNeoTables[] = {kTransformer, kGptNeoLayer};
constexpr Table kBioGptTables[] = {kBioGpt};
constexpr Table kGraniteMoeTables[] = {kModel, kFinalNorm, kTwoNorms, kAttention, kOutput, kGraniteExperts};
constexpr Table kFlexOlmoTables[] = {kModel, kFinalNorm, kNormsBehind, kAttention, kOutput, kExperts};
constexpr Table kGptBigcodeTables[] = {kTransformer, kGptBigcodeLayer, kGptBiases};
constexpr Table kGptjTables[] = {kTransformer, kGptjLayer};
constexpr Table kPhiTables[] = {kModel, kTwoNorms, kAttention, kPhi};
constexpr Table kStarcoder2Tables[] = {kModel, kFinalNorm, kTwoNorms, kAttention, kOutput, kStarcoder2Mlp};
constexpr Table kGptNeoxTables[] = {kGptNeox};
constexpr Table kBloomTables[] = {kBloom, kBloomNorms};
constexpr Table kFalconTables[] = {kBloom, kFalconNorms};
constexpr Table kOptTables[] = {kOpt};
constexpr Table kMptTables[] = {kMpt};

struct FamilyNames {
  std::string_view model_type;
  std::span<const Table> tables;
};
constexpr FamilyNames kFamilyNames[] = {
    {"llama", kLlamaTables},
    {"mistral", kLlamaTables},
    {"qwen2", kLlamaTables},
    {"qwen3", kLlamaTables},
    {"gemma", kLlamaTables},
    {"ernie4_5", kLlamaTables},
    {"helium", kLlamaTables},
    {"seed_oss", kLlamaTables},
    {"stablelm", kLlamaTables},
    {"granite", kLlamaTables},
    {"granite_swa", kLlamaTables},
    {"cohere", kLlamaTables},
    {"cohere2", kLlamaTables},
    {"smollm3", kLlamaTables},
    {"cwm", kLlamaTables},
    {"ministral", kLlamaTables},
    {"internlm3", kLlamaTables},
    {"iquestcoder", kLlamaTables},
    {"cohere_compass_text", kLlamaTables},
    {"emu3_text_model", kLlamaTables},
    {"exaone", kExaoneTables},
    {"olmo", kOlmoTables},
    {"olmo2", kOlmo2Tables},
    {"olmo3", kOlmo2Tables},
    {"exaone4", kOlmo2Tables},
    {"hyperclovax", kHyperClovaTables},
    {"vaultgemma", kVaultGemmaTables},
    {"nemotron", kNemotronTables},
    {"arcee", kNemotronTables},
    {"jais2", kNemotronTables},
    {"youtu", kYoutuTables},
    {"minicpm3", kYoutuTables},
    {"gemma2", kGemma2Tables},
    {"gemma3_text", kGemma2Tables},
    {"phi3", kPhi3Tables},
    {"glm", kGlmTables},
    {"glm4", kGlm4Tables},
    {"mixtral", kMixtralTables},
    {"qwen2_moe", kQwen2MoeTables},
    {"qwen3_moe", kMoeTables},
    {"qwen3_next", kQwen2MoeTables},
    {"qwen3_5_text", kLlamaTables},
    {"glm4_moe", kMoeTables},
    {"dots1", kMoeTables},
    {"deepseek_v2", kDeepseekTables},
    {"deepseek_v3", kDeepseekTables},
    {"kimi_k2", kDeepseekTables},
    {"gpt_oss", kGptOssTables},
    {"gpt2", kGpt2Tables},
    {"gpt_bigcode", kGptBigcodeTables},
    {"openai-gpt", kOpenAiGptTables},
    {"gpt-sw3", kGpt2Tables},
    {"gpt_neo", kGptNeoTables},
    {"biogpt", kBioGptTables},
    {"granitemoe", kGraniteMoeTables},
    {"granitemoeshared", kGraniteMoeTables},
    {"olmoe", kMoeTables},
    {"flex_olmo", kFlexOlmoTables},
    {"exaone_moe", kExaoneMoeTables},
    {"mellum", kMoeTables},
    {"solar_open", kMoeTables},
    {"glm4_moe_lite", kDeepseekTables},
    {"minimax_m2", kMixtralTables},
    {"hy_v3", kHyV3Tables},
    {"cohere2_moe", kMoeTables},
    {"flint", kFlintTables},
    {"sarvam_moe", kSarvamMoeTables},
    {"sarvam_mla", kDeepseekTables},
    {"gptj", kGptjTables},
    {"phi", kPhiTables},
    {"starcoder2", kStarcoder2Tables},
    {"gpt_neox", kGptNeoxTables},
    {"bloom", kBloomTables},
    {"falcon", kFalconTables},
    {"opt", kOptTables},
    {"mpt", kMptTables},
};

/// Null without one.
const CheckpointTensor* tensor_of(std::span<const Table> tables, std::string_view parameter) {
  for (const Table& table : tables) {
    for (const CheckpointTensor& tensor : table) {
      if (tensor.blocks[0].tensor == parameter && tensor.blocks[0].blocks == 1) return &tensor;
    }
  }
  return nullptr;
}
std::string_view stored_module(const CheckpointTensor& tensor) {
  const std::string_view module = tensor.name.substr(0, tensor.name.rfind('.'));
  return module.substr(module.rfind('.') + 1);
}

}  // namespace

std::span<const std::span<const CheckpointTensor>> checkpoint_tensors(std::string_view model_type) {
  const auto* found = std::find_if(std::begin(kFamilyNames), std::end(kFamilyNames),
                                   [&](const FamilyNames& f) { return f.model_type == model_type; });
  return found == std::end(kFamilyNames) ? std::span<const Table>{} : found->tables;
}

std::string_view module_name(std::string_view model_type, std::string_view parameter) {
  const CheckpointTensor* tensor = tensor_of(checkpoint_tensors(model_type), parameter);
  if (tensor == nullptr) return {};
  return tensor->module.empty() ? stored_module(*tensor) : tensor->module;
}

bool is_module_name(std::string_view name, std::string_view parameter) {
  return !name.empty() &&
         std::any_of(std::begin(kFamilyNames), std::end(kFamilyNames), [&](const FamilyNames& family) {
           const CheckpointTensor* tensor = tensor_of(family.tables, parameter);
           return tensor != nullptr && (tensor->module == name || stored_module(*tensor) == name);
         });
}

}  // namespace hexaplan::presets
