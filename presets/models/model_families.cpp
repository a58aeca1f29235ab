#include "presets/models/model_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "presets/models/dense_families.h"
#include "presets/models/expert_families.h"
#include "presets/models/family_rules.h"
#include "presets/models/gpt_families.h"
#include "presets/models/recurrent_families.h"

// Defaults and rules: huggingface/transformers, src/transformers/models/<family>/configuration_*.py and
// modeling_*.py (v5.23.0); DeepSeek and Kimi also deepseek-ai/DeepSeek-V3 on the hub (modeling_deepseek.py),
// MiniMax MiniMaxAI/MiniMax-Text-01 (modeling_minimax_text_01.py).
namespace hexaplan::presets {
namespace {

using costmodel::Activation;
using costmodel::GeluForm;
using costmodel::ModelSpec;

constexpr DimensionKeys kLlamaKeys{.hidden = {"hidden_size"},
                                   .ffn = {"intermediate_size"},
                                   .layers = {"num_hidden_layers"},
                                   .heads = {"num_attention_heads"},
                                   .kv_heads = {"num_key_value_heads"},
                                   .head_dim = {"head_dim"},
                                   .positions = {"max_position_embeddings"}};
/// head_dim, where present, is the rotary part.
constexpr DimensionKeys kLatentKeys{.hidden = {"hidden_size"},
                                    .ffn = {"intermediate_size"},
                                    .layers = {"num_hidden_layers"},
                                    .heads = {"num_attention_heads"},
                                    .kv_heads = {},
                                    .head_dim = {},
                                    .positions = {"max_position_embeddings"}};
constexpr DimensionKeys kNeoxKeys{.hidden = {"hidden_size"},
                                  .ffn = {"intermediate_size"},
                                  .layers = {"num_hidden_layers"},
                                  .heads = {"num_attention_heads"},
                                  .positions = {"max_position_embeddings"}};
/// Without head_dim: hidden size over heads, whatever the file says.
constexpr DimensionKeys kEvenKeys{.hidden = {"hidden_size"},
                                  .ffn = {"intermediate_size"},
                                  .layers = {"num_hidden_layers"},
                                  .heads = {"num_attention_heads"},
                                  .kv_heads = {"num_key_value_heads"},
                                  .positions = {"max_position_embeddings"}};
/// intermediate_size is an expert's.
constexpr DimensionKeys kLlama4Keys{.hidden = {"hidden_size"},
                                    .ffn = {"intermediate_size_mlp"},
                                    .layers = {"num_hidden_layers"},
                                    .heads = {"num_attention_heads"},
                                    .kv_heads = {"num_key_value_heads"},
                                    .head_dim = {"head_dim"},
                                    .positions = {"max_position_embeddings"}};
/// EXAONE 3 wrote num_layers for its own code.
constexpr DimensionKeys kExaoneKeys{.hidden = {"hidden_size"},
                                    .ffn = {"intermediate_size"},
                                    .layers = {"num_hidden_layers", "num_layers"},
                                    .heads = {"num_attention_heads"},
                                    .kv_heads = {"num_key_value_heads"},
                                    .head_dim = {"head_dim"},
                                    .positions = {"max_position_embeddings"}};
/// Experts in every layer.
constexpr DimensionKeys kSparseKeys{.hidden = {"hidden_size"},
                                    .layers = {"num_hidden_layers"},
                                    .heads = {"num_attention_heads"},
                                    .kv_heads = {"num_key_value_heads"},
                                    .head_dim = {"head_dim"},
                                    .positions = {"max_position_embeddings"}};
/// Neither attention nor an MLP.
constexpr DimensionKeys kMambaKeys{.hidden = {"hidden_size"}, .layers = {"num_hidden_layers"}};
/// As kLatentKeys, with the name that published files have for positions.
constexpr DimensionKeys kKimiKeys{.hidden = {"hidden_size"},
                                  .ffn = {"intermediate_size"},
                                  .layers = {"num_hidden_layers"},
                                  .heads = {"num_attention_heads"},
                                  .kv_heads = {},
                                  .head_dim = {},
                                  .positions = {"model_max_length", "max_position_embeddings"}};
constexpr DimensionKeys kGptNeoKeys{.hidden = {"hidden_size"},
                                    .ffn = {"intermediate_size"},
                                    .layers = {"num_layers", "num_hidden_layers"},
                                    .heads = {"num_heads", "num_attention_heads"},
                                    .positions = {"max_position_embeddings"}};
constexpr DimensionKeys kXglmKeys{.hidden = {"d_model", "hidden_size"},
                                  .ffn = {"ffn_dim"},
                                  .layers = {"num_layers", "num_hidden_layers"},
                                  .heads = {"attention_heads", "num_attention_heads"},
                                  .positions = {"max_position_embeddings"}};
constexpr DimensionKeys kCtrlKeys{.hidden = {"n_embd", "hidden_size"},
                                  .ffn = {"dff"},
                                  .layers = {"n_layer", "num_hidden_layers"},
                                  .heads = {"n_head", "num_attention_heads"},
                                  .positions = {"n_positions", "max_position_embeddings"}};
/// The MLP is 4 x hidden wide.
constexpr DimensionKeys kOpenAiKeys{.hidden = {"n_embd", "hidden_size"},
                                    .layers = {"n_layer", "num_hidden_layers"},
                                    .heads = {"n_head", "num_attention_heads"},
                                    .positions = {"n_positions", "max_position_embeddings"}};
constexpr DimensionKeys kDbrxKeys{.hidden = {"d_model", "hidden_size"},
                                  .layers = {"n_layers", "num_hidden_layers"},
                                  .heads = {"n_heads", "num_attention_heads"},
                                  .positions = {"max_seq_len", "max_position_embeddings"}};
constexpr DimensionKeys kGpt2Keys{.hidden = {"n_embd", "hidden_size"},
                                  .ffn = {"n_inner"},
                                  .layers = {"n_layer", "num_hidden_layers"},
                                  .heads = {"n_head", "num_attention_heads"},
                                  .positions = {"n_positions", "max_position_embeddings"}};
/// BloomMLP is 4 × hidden wide whatever n_inner says.
constexpr DimensionKeys kBloomKeys{.hidden = {"hidden_size", "n_embed"},
                                   .layers = {"n_layer", "num_hidden_layers"},
                                   .heads = {"n_head", "num_attention_heads"},
                                   .positions = {"seq_length"}};
constexpr DimensionKeys kOptKeys{.hidden = {"hidden_size", "d_model"},
                                 .ffn = {"ffn_dim"},
                                 .layers = {"num_hidden_layers"},
                                 .heads = {"num_attention_heads"},
                                 .positions = {"max_position_embeddings"}};
constexpr DimensionKeys kFalconKeys{.hidden = {"hidden_size", "n_embed"},
                                    .ffn = {"ffn_hidden_size"},
                                    .layers = {"num_hidden_layers", "n_layer"},
                                    .heads = {"num_attention_heads", "n_head"},
                                    .positions = {"max_position_embeddings"}};
constexpr DimensionKeys kMptKeys{.hidden = {"d_model", "hidden_size"},
                                 .layers = {"n_layers", "num_hidden_layers"},
                                 .heads = {"n_heads", "num_attention_heads"},
                                 .positions = {"max_seq_len"}};

// --- Families --------------------------------------------------------------------------------------------

void llama(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.mlp.bias = f.flag({"mlp_bias"}, false);
}

void mistral(ConfigFields& f, ModelSpec& m) {
  read_plain_window(f, m, 4096);
}

/// Weights are divided by their sum in the modeling code alone.
void mixtral(ConfigFields& f, ModelSpec& m) {
  m.moe.renormalise = true;
  read_plain_window(f, m, 0);
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 8, 2, {"intermediate_size"}, m.mlp.ffn});
}

/// Bias on q, k and v in every file: it is in the modeling code, not in the config.
void qwen2(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = true;
  read_qwen_windows(f, m);
}

void qwen2_moe(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"qkv_bias"}, true);
  read_qwen_windows(f, m);
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 60, 4, {"moe_intermediate_size"}, 1408});
  read_sparse_layers(f, m);
  m.moe.renormalise = f.flag({"norm_topk_prob"}, false);
  m.moe.shared_ffn = f.integer({"shared_expert_intermediate_size"}, 5632);
  m.moe.shared_gate = m.moe.shared_ffn > 0;
}

void qwen3(ConfigFields& f, ModelSpec& m) {
  m.attention.qk_norm = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  read_qwen_windows(f, m);
}

void qwen3_moe(ConfigFields& f, ModelSpec& m) {
  m.attention.qk_norm = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  if (f.flag({"use_sliding_window"}, false)) {
    read_plain_window(f, m, 4096);
  }
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 128, 8, {"moe_intermediate_size"}, 768});
  m.moe.renormalise = f.flag({"norm_topk_prob"}, false);
  read_sparse_layers(f, m);
}

void deepseek_v2(ConfigFields& f, ModelSpec& m) {
  refuse_shared_biases(f, {"mlp_bias"});
  read_latent_attention(f, m);
  read_deepseek_experts(f, m,
                        {.experts = 64, .shared = 2, .top_k = 0, .expert_ffn = 1407, .first_k_dense = 0});
  read_deepseek_router(f, m, {ChoiceOfExperts::Greedy, costmodel::RouterScore::Softmax, 1, 1, 1.0, false});
}

/// Aux-loss-free balancing (arXiv:2412.19437 §2.1.2) unless topk_method names another; MTP modules as the
/// file says: the class knows none.
void deepseek_v3(ConfigFields& f, ModelSpec& m) {
  read_latent_attention(f, m);
  read_deepseek_experts(f, m,
                        {.experts = 256, .shared = 1, .top_k = 8, .expert_ffn = 2048, .first_k_dense = 3});
  read_deepseek_router(f, m, {ChoiceOfExperts::Corrected, costmodel::RouterScore::Sigmoid, 8, 4, 2.5, true});
  m.mtp_layers = static_cast<int>(f.integer({"num_nextn_predict_layers"}, 0, {0, kLayers.high}));
}

/// Norms multiply by 1 + weight, words by √hidden: in the modeling code alone.
void gemma(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.zero_centered_norm = true;
  m.embedding_multiplier = std::sqrt(static_cast<double>(m.hidden));
}

void read_gemma_scores(ConfigFields& f, ModelSpec& m, double softcap, double logit_softcap) {
  m.attention.score_width = f.number({"query_pre_attn_scalar"}, 256, {1e-6, 1e9});
  m.attention.softcap = read_or_none(f, {"attn_logit_softcapping"}, softcap);
  m.logit_softcap = read_or_none(f, {"final_logit_softcapping"}, logit_softcap);
}

void gemma2(ConfigFields& f, ModelSpec& m) {
  gemma(f, m);
  m.norms_per_layer = 4;
  read_gemma_scores(f, m, 50, 30);
  read_alternating_windows(f, m, 4096, 2);
}

/// Gemma-2 without the norms behind attention and MLP.
void vaultgemma(ConfigFields& f, ModelSpec& m) {
  gemma2(f, m);
  m.norms_per_layer = 2;
}

void gemma3(ConfigFields& f, ModelSpec& m) {
  gemma(f, m);
  m.norms_per_layer = 4;
  m.attention.qk_norm = true;
  m.rotary.local_base = 10000;
  read_gemma_scores(f, m, 0, 0);
  read_alternating_windows(f, m, 4096, f.size({"sliding_window_pattern"}, 6));
}

void phi3(ConfigFields& f, ModelSpec& m) {
  read_plain_window(f, m, 0);
}

/// Phi-4-mini with towers beside it, whose configurations stand beside the language model's own fields.
void phi4_multimodal(ConfigFields& f, ModelSpec& m) {
  phi3(f, m);
  m.not_counted = kBesideLanguage;
}

/// Rotates neighbouring columns of the first half of a head.
void glm(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"attention_bias"}, true);
  m.rotary.share = 0.5;
  m.rotary.interleaved = true;
}

void glm4(ConfigFields& f, ModelSpec& m) {
  glm(f, m);
  m.norms_per_layer = 4;
}

void glm4_moe(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"attention_bias"}, false);
  m.attention.qk_norm = f.flag({"use_qk_norm"}, false);
  m.rotary.share = 0.5;
  read_corrected_experts(
      f, m, {.experts = 128, .shared = 1, .top_k = 8, .expert_ffn = 1408, .first_k_dense = 1}, 1.0, true);
  m.mtp_layers = static_cast<int>(f.integer({"num_nextn_predict_layers"}, 0, {0, kLayers.high}));
}

void dots1(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.attention.qk_norm = true;
  read_corrected_experts(
      f, m, {.experts = 0, .shared = 0, .top_k = 0, .expert_ffn = 1408, .first_k_dense = 0}, 1.0, false);
  const std::int64_t first = f.integer({"max_window_layers"}, 62, {0, kSize.high});
  read_windows(f, m, f.integer(kWindow, 4096), [first](std::int64_t i) { return i >= first; });
}

void ernie4_5(ConfigFields& f, ModelSpec& m) {
  const bool bias = f.flag({"use_bias"}, false);
  set_attention_bias(m, bias);
  m.mlp.bias = bias;
  m.rotary.interleaved = true;
}

void helium(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"attention_bias"}, false);
  m.mlp.bias = f.flag({"mlp_bias"}, false);
  m.rotary.interleaved = true;
}

void seed_oss(ConfigFields& f, ModelSpec& m) {
  m.attention.qkv_bias = f.flag({"attention_bias"}, true);
  m.attention.output_bias = f.flag({"attention_out_bias"}, false);
  m.mlp.bias = f.flag({"mlp_bias"}, false);
}

void stablelm(ConfigFields& f, ModelSpec& m) {
  m.norm = costmodel::NormKind::Layer;
  m.norm_bias = true;
  m.rotary.share = 0.25;
  m.attention.qkv_bias = f.flag({"use_qkv_bias"}, false);
  m.attention.qk_norm = f.flag({"qk_layernorm"}, false);
  m.attention.qk_norm_scope = costmodel::QkNormScope::EachHead;
  m.attention.qk_norm_kind = costmodel::NormKind::Layer;
  m.parallel_residual = f.flag({"use_parallel_residual"}, false);
  if (m.parallel_residual) m.norms_per_layer = 1;
}

void gpt_oss(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, true));
  m.attention.sinks = true;
  m.moe.router_bias = m.moe.expert_bias = true;
  m.moe.renormalise = true;  // softmax of the chosen logits alone: the same weights
  m.mlp.clamp = f.number({"swiglu_limit"}, 7, kCoefficient);
  m.rotary.scaling = costmodel::RopeScaling::Yarn;
  m.rotary.factor = 32;
  m.rotary.original_positions = 4096;
  m.rotary.whole_ramp = false;
  m.rotary.attention_factor = 0.1 * std::log(32.0) + 1;  // arXiv:2309.00071 eq. 22
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 128, 4, {"intermediate_size"}, m.mlp.ffn});
  read_alternating_windows(f, m, 128, 2);
}

// clang-format off
// model_type, keys, {vocab, hidden, ffn, layers, heads, kv_heads, head_dim, positions}, {norm epsilon, RoPE base, GELU}, block, activation, tied, rules, packed
constexpr ModelFamily kFamilies[] = {
    {"llama", &kLlamaKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, llama},
    {"mistral", &kLlamaKeys, {32000, 4096, 14336, 32, 32, 8, 0, 131072}, {1e-6}, Block::Llama, Activation::Silu, false, mistral},
    {"mixtral", &kLlamaKeys, {32000, 4096, 14336, 32, 32, 8, 0, 131072}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, mixtral},
    {"qwen2", &kLlamaKeys, {151936, 4096, 22016, 32, 32, 32, 0, 32768}, {1e-6}, Block::Llama, Activation::Silu, false, qwen2},
    {"qwen2_moe", &kLlamaKeys, {151936, 2048, 5632, 24, 16, 16, 0, 32768}, {1e-6}, Block::Llama, Activation::Silu, false, qwen2_moe},
    {"qwen3", &kLlamaKeys, {151936, 4096, 22016, 32, 32, 32, 128, 32768}, {1e-6}, Block::Llama, Activation::Silu, false, qwen3},
    {"qwen3_moe", &kLlamaKeys, {151936, 2048, 6144, 24, 32, 4, 0, 32768}, {1e-6}, Block::Llama, Activation::Silu, false, qwen3_moe},
    {"deepseek_v2", &kLatentKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, deepseek_v2},
    {"deepseek_v3", &kLatentKeys, {129280, 7168, 18432, 61, 128, 0, 0, 4096}, {1e-6}, Block::Llama, Activation::Silu, false, deepseek_v3},
    {"kimi_k2", &kLatentKeys, {129280, 7168, 18432, 61, 128, 0, 0, 4096}, {1e-6}, Block::Llama, Activation::Silu, false, deepseek_v3},
    {"gemma", &kLlamaKeys, {256000, 3072, 24576, 28, 16, 16, 256, 8192}, {1e-6, 1e4, GeluForm::Tanh}, Block::Llama, Activation::Gelu, true, gemma},
    {"gemma2", &kLlamaKeys, {256000, 2304, 9216, 26, 8, 4, 256, 8192}, {1e-6, 1e4, GeluForm::Tanh}, Block::Llama, Activation::Gelu, true, gemma2},
    {"gemma3_text", &kLlamaKeys, {262208, 2304, 9216, 26, 8, 4, 256, 131072}, {1e-6, 1e6, GeluForm::Tanh}, Block::Llama, Activation::Gelu, true, gemma3},
    {"phi3", &kLlamaKeys, {32064, 3072, 8192, 32, 32, 0, 0, 4096}, {1e-5}, Block::Llama, Activation::Silu, false, phi3, kPackedQkv | kPackedGateUp},
    {"gpt_oss", &kLlamaKeys, {201088, 2880, 2880, 36, 64, 8, 64, 131072}, {1e-5, 150000}, Block::Llama, Activation::Silu, false, gpt_oss},
    {"gpt2", &kGpt2Keys, {50257, 768, 0, 12, 12, 0, 0, 1024}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, gpt2, kPackedQkv},
    {"gpt_neox", &kNeoxKeys, {50432, 6144, 24576, 44, 64, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Gelu, false, gpt_neox, kPackedQkv},
    {"bloom", &kBloomKeys, {250880, 64, 0, 2, 8, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, bloom, kPackedQkv},
    {"opt", &kOptKeys, {50272, 768, 3072, 12, 12, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Relu, true, opt},
    {"mpt", &kMptKeys, {50368, 2048, 0, 24, 16, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Gelu, true, mpt, kPackedQkv},
    {"glm", &kLlamaKeys, {151552, 4096, 13696, 40, 32, 2, 128, 131072}, {1.5625e-7}, Block::Llama, Activation::Silu, false, glm, kPackedGateUp},
    {"glm4", &kLlamaKeys, {151552, 4096, 13696, 40, 32, 2, 128, 131072}, {1.5625e-7}, Block::Llama, Activation::Silu, false, glm4, kPackedGateUp},
    {"glm4_moe", &kLlamaKeys, {151552, 4096, 10944, 46, 96, 8, kRoundedDown, 131072}, {1e-5}, Block::Llama, Activation::Silu, false, glm4_moe},
    {"dots1", &kLlamaKeys, {152064, 4608, 10944, 62, 32, 32, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, dots1},
    {"ernie4_5", &kLlamaKeys, {103424, 1024, 3072, 18, 16, 2, 128, 131072}, {1e-5, 500000}, Block::Llama, Activation::Silu, true, ernie4_5},
    {"helium", &kLlamaKeys, {48000, 2560, 7040, 24, 20, 20, 128, 4096}, {1e-8, 100000}, Block::Llama, Activation::Silu, false, helium},
    {"seed_oss", &kLlamaKeys, {155136, 4096, 27648, 64, 80, 8, 128, 524288}, {1e-6}, Block::Llama, Activation::Silu, false, seed_oss},
    {"stablelm", &kLlamaKeys, {50304, 2560, 6912, 32, 32, 32, 0, 4096}, {1e-5}, Block::Llama, Activation::Silu, false, stablelm},
    {"gptj", &kGpt2Keys, {50400, 4096, 0, 28, 16, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, false, gptj},
    {"gpt_bigcode", &kGpt2Keys, {50257, 768, 0, 12, 12, 0, 0, 1024}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, gpt_bigcode, kPackedQkv},
    {"phi", &kLlamaKeys, {51200, 2048, 8192, 24, 32, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, false, phi},
    {"starcoder2", &kLlamaKeys, {49152, 3072, 12288, 30, 24, 2, 0, 4096}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, starcoder2},
    {"falcon", &kFalconKeys, {65024, 4544, 0, 32, 71, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Gelu, true, falcon, kPackedQkv},
    {"apertus", &kLlamaKeys, {131072, 4096, 14336, 32, 32, 0, 0, 65536}, {1e-5, 12e6}, Block::Llama, Activation::Xielu, false, apertus},
    {"arcee", &kLlamaKeys, {32000, 2560, 18432, 32, 32, 0, 0, 4096}, {1e-5}, Block::Llama, Activation::ReluSquared, false, arcee},
    {"cohere", &kLlamaKeys, {256000, 8192, 22528, 40, 64, 0, 0, 8192}, {1e-5, 500000}, Block::Llama, Activation::Silu, true, cohere},
    {"cohere2", &kLlamaKeys, {256000, 8192, 22528, 40, 64, 0, 0, 8192}, {1e-5}, Block::Llama, Activation::Silu, true, cohere2},
    {"cohere_compass_text", &kLlamaKeys, {256000, 8192, 22528, 40, 64, 0, 0, 8192}, {1e-5}, Block::Llama, Activation::Silu, true, cohere_compass_text},
    {"cwm", &kLlamaKeys, {128256, 6144, 21504, 64, 48, 8, 128, 131072}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, cwm},
    {"emu3_text_model", &kLlamaKeys, {184622, 4096, 14336, 32, 32, 8, 0, 9216}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, llama},
    {"exaone", &kExaoneKeys, {102400, 4096, 14336, 32, 32, 8, 0, 4096}, {1e-5, 500000}, Block::Llama, Activation::Silu, false, llama},
    {"exaone4", &kLlamaKeys, {102400, 4096, 16384, 32, 32, 0, 0, 2048}, {1e-5}, Block::Llama, Activation::Silu, false, exaone4},
    {"granite", &kLlamaKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, granite},
    {"granite_swa", &kLlamaKeys, {100352, 2560, 8192, 24, 20, 4, 0, 8192}, {1e-5}, Block::Llama, Activation::Silu, true, granite_swa},
    {"hunyuan_v1_dense", &kLlamaKeys, {290943, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-5}, Block::Llama, Activation::Silu, false, hunyuan_v1_dense},
    {"hyperclovax", &kLlamaKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, hyperclovax},
    {"internlm3", &kLlamaKeys, {128512, 4096, 10240, 48, 32, 2, 0, 32768}, {1e-5}, Block::Llama, Activation::Silu, false, internlm3},
    {"iquestcoder", &kLlamaKeys, {76800, 5120, 27648, 80, 40, 8, 128, 131072}, {1e-5}, Block::Llama, Activation::Silu, false, llama},
    {"minicpm3", &kLatentKeys, {73448, 2560, 6400, 62, 40, 0, kRoundedDown, 32768}, {1e-5}, Block::Llama, Activation::Silu, true, minicpm3},
    {"ministral", &kLlamaKeys, {32000, 4096, 14336, 32, 32, 8, 0, 131072}, {1e-6}, Block::Llama, Activation::Silu, false, ministral},
    {"ministral3", &kLlamaKeys, {131072, 4096, 14336, 34, 32, 8, 128, 262144}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, ministral3},
    {"olmo", &kLlamaKeys, {50304, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-5}, Block::Llama, Activation::Silu, false, olmo},
    {"olmo2", &kLlamaKeys, {50304, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-5}, Block::Llama, Activation::Silu, false, olmo2},
    {"olmo3", &kLlamaKeys, {50304, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-5, 500000}, Block::Llama, Activation::Silu, false, olmo3},
    {"qwen2_vl_text", &kLlamaKeys, {152064, 8192, 29568, 80, 64, 8, 0, 32768}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, qwen2_vl_text},
    {"qwen2_5_vl_text", &kLlamaKeys, {152064, 8192, 29568, 80, 64, 8, 0, 32768}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, qwen2_vl_text},
    {"qwen3_vl_text", &kLlamaKeys, {151936, 4096, 22016, 32, 32, 32, 128, 128000}, {1e-6, 500000}, Block::Llama, Activation::Silu, false, qwen3_vl_text},
    {"phi4_multimodal", &kLlamaKeys, {200064, 3072, 8192, 32, 32, 8, 0, 131072}, {1e-5}, Block::Llama, Activation::Silu, false, phi4_multimodal, kPackedQkv | kPackedGateUp},
    {"phi4mm", &kLlamaKeys, {200064, 3072, 8192, 32, 32, 8, 0, 131072}, {1e-5}, Block::Llama, Activation::Silu, true, phi4_multimodal, kPackedQkv | kPackedGateUp},
    {"smollm3", &kLlamaKeys, {128256, 2048, 11008, 36, 16, 4, 0, 32768}, {1e-6, 2e6}, Block::Llama, Activation::Silu, true, smollm3},
    {"vaultgemma", &kLlamaKeys, {256000, 2304, 9216, 26, 8, 4, 256, 8192}, {1e-6, 1e4, GeluForm::Tanh}, Block::Llama, Activation::Gelu, true, vaultgemma},
    {"youtu", &kLatentKeys, {128256, 2048, 6144, 32, 16, 0, kRoundedDown, 131072}, {1e-6}, Block::Llama, Activation::Silu, true, youtu},
    {"glm4v_text", &kLlamaKeys, {151552, 4096, 13696, 40, 32, 2, 0, 32768}, {1e-5}, Block::Llama, Activation::Silu, false, glm4v_text, kPackedGateUp},
    {"glm4v_moe_text", &kLlamaKeys, {151424, 4096, 10944, 46, 96, 8, kRoundedDown, 65536}, {1e-5}, Block::Llama, Activation::Silu, false, glm4v_moe_text},
    {"glm4_moe_lite", &kLatentKeys, {154880, 2048, 10240, 47, 20, 0, kRoundedDown, 202752}, {1e-5}, Block::Llama, Activation::Silu, false, glm4_moe_lite},
    {"aria_text", &kLlamaKeys, {32000, 4096, 4096, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, aria_text},
    {"cohere2_moe", &kLlamaKeys, {256000, 8192, 22528, 40, 64, 0, 128, 8192}, {1e-5}, Block::Llama, Activation::Silu, true, cohere2_moe},
    {"dbrx", &kDbrxKeys, {32000, 2048, 0, 24, 16, 0, 0, 2048}, {1e-5}, Block::Llama, Activation::Silu, false, dbrx, kPackedQkv},
    {"ernie4_5_moe", &kEvenKeys, {103424, 2560, 12288, 28, 20, 4, 0, 131072}, {1e-5, 500000}, Block::Llama, Activation::Silu, true, ernie4_5_moe},
    {"exaone_moe", &kLlamaKeys, {102400, 4096, 16384, 32, 32, 0, 0, 2048}, {1e-5}, Block::Llama, Activation::Silu, false, exaone_moe},
    {"flex_olmo", &kLlamaKeys, {100352, 4096, 11008, 32, 32, 0, 0, 4096}, {1e-6, 500000}, Block::Llama, Activation::Silu, false, flex_olmo},
    {"flint", &kLlamaKeys, {150144, 2048, 6144, 49, 32, 4, 128, 262144}, {1e-6}, Block::Llama, Activation::Silu, false, flint},
    {"granitemoe", &kLlamaKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, granitemoe},
    {"granitemoe_swa", &kLlamaKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, granitemoe_swa, kPackedGateUp},
    {"granitemoehybrid", &kLlamaKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, granitemoehybrid, kPackedGateUp},
    {"granitemoeshared", &kLlamaKeys, {32000, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, granitemoeshared, kPackedGateUp},
    {"hunyuan_v1_moe", &kLlamaKeys, {290943, 4096, 11008, 32, 32, 0, 0, 2048}, {1e-5}, Block::Llama, Activation::Silu, false, hunyuan_v1_moe},
    {"hy_v3", &kLlamaKeys, {120832, 4096, 13312, 80, 64, 8, 128, 131072}, {1e-5, 11158840}, Block::Llama, Activation::Silu, false, hy_v3},
    {"kolibri1", &kSparseKeys, {128000, 2560, 0, 50, 48, 4, 128, 262144}, {1e-6}, Block::Llama, Activation::Silu, false, kolibri1},
    {"llama4_text", &kLlama4Keys, {202048, 5120, 16384, 48, 40, 8, 128, 131072}, {1e-5, 500000}, Block::Llama, Activation::Silu, false, llama4_text},
    {"mellum", &kLlamaKeys, {98304, 2304, 7168, 28, 32, 4, 128, 131072}, {1e-6, 500000}, Block::Llama, Activation::Silu, false, mellum},
    {"minimax_m2", &kLlamaKeys, {200064, 3072, 1536, 62, 48, 8, 128, 196608}, {1e-6, 5e6}, Block::Llama, Activation::Silu, false, minimax_m2},
    {"olmoe", &kLlamaKeys, {50304, 2048, 2048, 16, 16, 0, 0, 4096}, {1e-5}, Block::Llama, Activation::Silu, false, olmoe},
    {"phimoe", &kLlamaKeys, {32064, 4096, 6400, 32, 32, 8, 0, 131072}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, phimoe},
    {"qwen3_vl_moe_text", &kLlamaKeys, {151936, 2048, 5632, 24, 16, 16, 128, 128000}, {1e-6, 500000}, Block::Llama, Activation::Silu, true, qwen3_vl_moe_text},
    {"sarvam_mla", &kLatentKeys, {262144, 4096, 16384, 32, 64, 0, 0, 4096}, {1e-6}, Block::Llama, Activation::Silu, false, sarvam_mla},
    {"sarvam_moe", &kLlamaKeys, {262144, 4096, 8192, 19, 64, 4, 64, 131072}, {1e-6, 8e6}, Block::Llama, Activation::Silu, false, sarvam_moe},
    {"solar_open", &kLlamaKeys, {196608, 4096, 0, 48, 64, 8, 128, 131072}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, solar_open},
    {"biogpt", &kNeoxKeys, {42384, 1024, 4096, 24, 16, 0, 0, 1024}, {1e-12}, Block::Gpt, Activation::Gelu, true, biogpt},
    {"codegen", &kGpt2Keys, {50400, 4096, 0, 28, 16, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, false, codegen, kPackedQkv},
    {"ctrl", &kCtrlKeys, {246534, 1280, 8192, 48, 16, 0, 0, 256}, {1e-6}, Block::Gpt, Activation::Relu, true, ctrl},
    {"gpt_neo", &kGptNeoKeys, {50257, 2048, 0, 24, 16, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, gpt_neo},
    {"gpt-sw3", &kGpt2Keys, {50257, 768, 0, 12, 12, 0, 0, 1024}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, gpt2, kPackedQkv},
    {"jais2", &kLlamaKeys, {150272, 3328, 26624, 32, 26, 0, 128, 8192}, {1e-5}, Block::Gpt, Activation::ReluSquared, false, jais2},
    {"nemotron", &kLlamaKeys, {256000, 6144, 24576, 32, 48, 0, 0, 4096}, {1e-5}, Block::Gpt, Activation::ReluSquared, false, nemotron},
    {"openai-gpt", &kOpenAiKeys, {40478, 768, 0, 12, 12, 0, 0, 512}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, openai_gpt, kPackedQkv},
    {"persimmon", &kNeoxKeys, {262144, 4096, 16384, 36, 64, 0, 0, 16384}, {1e-5}, Block::Gpt, Activation::ReluSquared, false, persimmon, kPackedQkv},
    {"qwen3_next", &kLlamaKeys, {151936, 2048, 5632, 48, 16, 2, 256, 32768}, {1e-6}, Block::Llama, Activation::Silu, false, qwen3_next},
    {"qwen3_5_text", &kLlamaKeys, {248320, 4096, 12288, 32, 16, 4, 256, 32768}, {1e-6}, Block::Llama, Activation::Silu, false, qwen3_5_text},
    {"qwen3_5_moe_text", &kSparseKeys, {248320, 2048, 512, 40, 16, 2, 256, 32768}, {1e-6}, Block::Llama, Activation::Silu, false, qwen3_5_moe_text},
    {"mistral4", &kLatentKeys, {131072, 4096, 12288, 36, 32, 0, 0, 1048576}, {1e-6}, Block::Llama, Activation::Silu, false, mistral4},
    {"lara_mini", &kSparseKeys, {151936, 1024, 0, 34, 16, 4, 128, 131072}, {1e-6}, Block::Llama, Activation::Silu, true, lara_mini},
    {"mamba2", &kMambaKeys, {32768, 4096, 0, 64, 0, 0, 0, 0}, {1e-5}, Block::Llama, Activation::Silu, false, mamba2},
    {"mamba", &kMambaKeys, {50280, 768, 0, 32, 0, 0, 0, 0}, {1e-5}, Block::Llama, Activation::Silu, true, mamba},
    {"falcon_mamba", &kMambaKeys, {50280, 768, 0, 32, 0, 0, 0, 0}, {1e-5}, Block::Llama, Activation::Silu, true, falcon_mamba},
    {"jamba", &kLlamaKeys, {65536, 4096, 14336, 32, 32, 8, kRoundedDown, 262144}, {1e-6}, Block::Llama, Activation::Silu, false, jamba},
    {"minimax", &kLlamaKeys, {32000, 4096, 14336, 32, 32, 8, kRoundedDown, 131072}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, minimax},
    {"minimax_text_01", &kLlamaKeys, {32000, 4096, 14336, 32, 32, 8, kRoundedDown, 131072}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, minimax},
    {"minimax_m1", &kLlamaKeys, {32000, 4096, 14336, 32, 32, 8, kRoundedDown, 131072}, {1e-5, 1e6}, Block::Llama, Activation::Silu, false, minimax},
    {"kimi_linear", &kKimiKeys, {163840, 2304, 9216, 27, 32, 0, kRoundedDown, 1048576}, {1e-5}, Block::Llama, Activation::Silu, false, kimi_linear},
    {"olmo_hybrid", &kEvenKeys, {100352, 3840, 11008, 32, 30, 0, 0, 65536}, {1e-6}, Block::Llama, Activation::Silu, false, olmo_hybrid},
    {"bamba", &kEvenKeys, {128000, 4096, 14336, 32, 32, 8, 0, 262144}, {1e-5}, Block::Llama, Activation::Silu, false, bamba},
    {"nemotron_h", &kLlamaKeys, {131072, 4096, 21504, 4, 32, 8, 128, 4096}, {1e-5}, Block::Llama, Activation::ReluSquared, false, nemotron_h},
    {"falcon_h1", &kLlamaKeys, {128000, 4096, 14336, 32, 32, 8, 0, 8192}, {1e-5}, Block::Llama, Activation::Silu, false, falcon_h1},
    {"lfm2", &kLlamaKeys, {65536, 2560, 12288, 32, 32, 8, 0, 128000}, {1e-5, 1e6}, Block::Llama, Activation::Silu, true, lfm2},
    {"lfm2_moe", &kLlamaKeys, {65536, 2048, 7168, 32, 32, 8, 0, 128000}, {1e-5, 1e6}, Block::Llama, Activation::Silu, true, lfm2_moe},
    {"xglm", &kXglmKeys, {256008, 1024, 4096, 24, 16, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Gelu, true, xglm},
};

/// model_type, what holds the language model, its model_type where that object does not say it.
constexpr ModelWrapper kWrappers[] = {
    {"aria", "text_config", "aria_text"},
    {"aya_vision", "text_config", "cohere2"},
    {"cohere2_vision", "text_config", "cohere2"},
    {"cohere_compass", "text_config", "cohere_compass_text"},
    {"deepseek_vl", "text_config", "llama"},
    {"deepseek_vl_hybrid", "text_config", "llama"},
    {"emu3", "text_config", "emu3_text_model"},
    {"fast_vlm", "text_config", "qwen2"},
    {"fuyu", "text_config", "persimmon"},
    {"gemma3", "text_config", "gemma3_text"},
    {"glm4v", "text_config", "glm4v_text"},
    {"glm46v", "text_config", "glm4v_text"},
    {"glm4v_moe", "text_config", "glm4v_moe_text"},
    {"got_ocr2", "text_config", "qwen2"},
    {"idefics2", "text_config", "mistral"},
    {"idefics3", "text_config", "llama"},
    {"internvl", "text_config", "qwen2"},
    {"janus", "text_config", "llama"},
    {"kimi_k25", "text_config", "deepseek_v3"},
    {"lighton_ocr", "text_config", "qwen3"},
    {"llama4", "text_config", "llama4_text"},
    {"llava", "text_config", "llama"},
    {"llava_next", "text_config", "llama"},
    {"llava_next_video", "text_config", "llama"},
    {"llava_onevision", "text_config", "qwen2"},
    {"mistral3", "text_config", "mistral"},
    {"moss_transcribe_diarize", "text_config", "qwen3"},
    {"ovis2", "text_config", "qwen2"},
    {"paligemma", "text_config", "gemma"},
    {"perception_lm", "text_config", "llama"},
    {"qwen2_audio", "text_config", "qwen2"},
    {"qwen2_vl", "text_config", "qwen2_vl_text"},
    {"qwen2_5_vl", "text_config", "qwen2_5_vl_text"},
    {"qwen3_5", "text_config", "qwen3_5_text"},
    {"qwen3_5_moe", "text_config", "qwen3_5_moe_text"},
    {"qwen3_vl", "text_config", "qwen3_vl_text"},
    {"qwen3_vl_moe", "text_config", "qwen3_vl_moe_text"},
    {"smolvlm", "text_config", "llama"},
    {"video_llava", "text_config", "llama"},
    {"vipllava", "text_config", "llama"},
    {"voxtral", "text_config", "llama"},
};

constexpr std::string_view kOwnRecurrence =
    "layers with a state of another kind than delta nets, Mamba, lightning attention and short convolutions";
constexpr std::string_view kChosenKeys = "attention to keys that an indexer chooses";
constexpr std::string_view kEncoder = "an encoder, or attention between encoder and decoder";
constexpr std::string_view kPerLayer = "embeddings, widths or heads of single layers";
constexpr std::string_view kHeadGates = "a gate for every head of its attention";
constexpr std::string_view kGateMatrix = "gates of attention's output by a matrix of their own";
constexpr std::string_view kRelative = "learned biases of relative positions";
constexpr std::string_view kLoops = "layers that a token passes several times";
constexpr std::string_view kOtherRows = "an embedding of other tokens than its output layer";
constexpr RefusedFamily kRefused[] = {
    {"recurrent_gemma", kOwnRecurrence}, {"rwkv", kOwnRecurrence}, {"xlstm", kOwnRecurrence},
    {"zaya", kOwnRecurrence},
    {"zamba", "blocks that several layers share"}, {"zamba2", "blocks that several layers share"},
    {"bailing_hybrid", kHeadGates}, {"lfm3", kHeadGates},
    {"deepseek_v32", kChosenKeys}, {"deepseek_v4", kChosenKeys}, {"glm_moe_dsa", kChosenKeys},
    {"axk2", kChosenKeys}, {"dots3_note", kChosenKeys}, {"dots3_note_text", kChosenKeys},
    {"hy_v4", kChosenKeys}, {"minimax_m3_vl", kChosenKeys}, {"minimax_m3_vl_text", kChosenKeys},
    {"bart", kEncoder}, {"bert", kEncoder}, {"bert-generation", kEncoder}, {"big_bird", kEncoder},
    {"bigbird_pegasus", kEncoder}, {"blenderbot", kEncoder}, {"blenderbot-small", kEncoder},
    {"camembert", kEncoder}, {"data2vec-text", kEncoder}, {"deberta-v2", kEncoder},
    {"distilbert", kEncoder}, {"electra", kEncoder}, {"ernie", kEncoder}, {"git", kEncoder},
    {"marian", kEncoder}, {"mbart", kEncoder}, {"megatron-bert", kEncoder}, {"mllama", kEncoder},
    {"modernbert", kEncoder}, {"mt5", kEncoder}, {"musicgen", kEncoder}, {"musicgen_melody", kEncoder},
    {"mvp", kEncoder}, {"pegasus", kEncoder}, {"plbart", kEncoder}, {"prophetnet", kEncoder},
    {"rembert", kEncoder}, {"roberta", kEncoder}, {"roberta-prelayernorm", kEncoder},
    {"roc_bert", kEncoder}, {"roformer", kEncoder}, {"t5", kEncoder}, {"t5gemma", kEncoder},
    {"trocr", kEncoder}, {"umt5", kEncoder}, {"vit", kEncoder}, {"whisper", kEncoder},
    {"xlm", kEncoder}, {"xlm-roberta", kEncoder}, {"xlm-roberta-xl", kEncoder}, {"xmod", kEncoder},
    {"afmoe", kGateMatrix}, {"beam", kGateMatrix},
    {"apertus1p5", kOtherRows}, {"apertus1p5_text", kOtherRows}, {"moshi", kOtherRows},
    {"axk1", "norms behind experts alone"},
    {"bitnet", "norms inside attention and MLP"},
    {"blt", "patches of bytes, with an encoder and a decoder of their own"},
    {"cpmant", kRelative}, {"inkling_text", kRelative}, {"inkling2_text", kRelative},
    {"inkling2_loop_text", kRelative}, {"xlnet", kRelative},
    {"diffllama", "differential attention"},
    {"doge", "attention masked by what its values make"},
    {"dory", kLoops}, {"hrm_text", kLoops},
    {"gemma3n", kPerLayer}, {"gemma3n_text", kPerLayer}, {"gemma4", kPerLayer},
    {"gemma4_assistant", kPerLayer}, {"gemma4_text", kPerLayer}, {"gemma4_unified", kPerLayer},
    {"gemma4_unified_assistant", kPerLayer}, {"gemma4_unified_text", kPerLayer}, {"laguna", kPerLayer},
    {"mimo_v2_flash", kPerLayer}, {"openelm", kPerLayer},
    {"gpt_neox_japanese", "a bias in its last layer alone"},
    {"jetmoe", "experts among attention heads"},
    {"longcat_flash", "two attentions in a layer and experts that compute nothing"},
    {"modernbert-decoder", "a layer and a norm of their own before its output layer"},
    {"nanochat", "norms of queries and keys without weights"},
    {"qwen4_exp", "several residual streams"}, {"qwen4_exp_text", "several residual streams"},
    {"reformer", "attention within buckets of hashes"},
};
// clang-format on

}  // namespace

std::span<const ModelFamily> model_families() {
  return kFamilies;
}

std::span<const ModelWrapper> model_wrappers() {
  return kWrappers;
}

LanguageModel language_model_of(const JsonValue& config) {
  const auto text_of = [](const JsonValue* value) {
    const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
    return text == nullptr ? std::string_view{} : std::string_view{*text};
  };
  const auto family = [](std::string_view name) {
    const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                     [&](const ModelFamily& f) { return f.model_type == name; });
    return found == std::end(kFamilies) ? nullptr : found;
  };
  const std::string_view type = text_of(config.find("model_type"));
  for (const ModelWrapper& wrapper : kWrappers) {
    if (wrapper.model_type != type) continue;
    const JsonValue* inner = config.find(wrapper.nested);
    // Older files have the language model's fields beside vision_config (Qwen2-VL).
    if (inner == nullptr && config.find("hidden_size") != nullptr) return {family(wrapper.family), {}, true};
    const std::string_view said = inner == nullptr ? std::string_view{} : text_of(inner->find("model_type"));
    return {family(said.empty() ? wrapper.family : said), wrapper.nested, true};
  }
  return {family(type), {}};
}

std::span<const RefusedFamily> refused_families() {
  return kRefused;
}

}  // namespace hexaplan::presets
