#include "presets/models/model_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "presets/models/gpt_families.h"

// Defaults and rules: huggingface/transformers, src/transformers/models/<family>/configuration_*.py and
// modeling_*.py (v5.23.0); DeepSeek and Kimi also deepseek-ai/DeepSeek-V3 on the hub (modeling_deepseek.py).
namespace hexaplan::presets {
namespace {

using costmodel::Activation;
using costmodel::AttentionKind;
using costmodel::GeluForm;
using costmodel::ModelSpec;
using costmodel::PositionKind;

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

constexpr Key kWindow{"sliding_window"};
constexpr Key kTopK{"num_experts_per_tok"};
constexpr Key kFirstDense{"first_k_dense_replace"};
constexpr Key kTopGroups{"topk_group"};
constexpr RealRange kCoefficient{0.0, 1e6};

// --- Sliding windows -------------------------------------------------------------------------------------

/// Keeps a regular pattern as a period (every n-th layer is global), any other as a list.
void set_windows(ModelSpec& m, std::int64_t window, const std::function<bool(std::int64_t)>& windowed) {
  std::vector<int> global;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    if (!windowed(i)) {
      global.push_back(static_cast<int>(i));
    }
  }
  const auto all = static_cast<std::size_t>(m.layers);
  m.attention.window = global.size() == all ? 0 : window;
  if (m.attention.window == 0 || global.empty()) {
    return;
  }
  const int period = global.front() + 1;
  bool regular = period > 1 && global.size() == all / static_cast<std::size_t>(period);
  for (std::size_t i = 0; i < global.size(); ++i) {
    regular = regular && global[i] + 1 == period * static_cast<int>(i + 1);
  }
  if (regular) {
    m.attention.global_period = period;
  } else {
    m.attention.global_layers = std::move(global);
  }
}

enum class LayerType : std::uint8_t { Full, Sliding };
constexpr Named<LayerType> kLayerTypes[] = {{"full_attention", LayerType::Full},
                                            {"sliding_attention", LayerType::Sliding}};

/// layer_types where the file has it, else `pattern`: true for layers that attend through the window.
void read_windows(ConfigFields& f, ModelSpec& m, std::int64_t window,
                  const std::function<bool(std::int64_t)>& pattern) {
  const std::optional<ValueReader> listed = f.value({"layer_types"});
  if (!listed) {
    set_windows(m, window, pattern);
    return;
  }
  std::vector<LayerType> types;
  for (const ValueReader& element : listed->elements()) {
    types.push_back(element.choice(kLayerTypes));
  }
  if (static_cast<std::int64_t>(types.size()) != m.layers) {
    throw listed->error(fmt::format("one entry for each of {} layers, not {}", m.layers, types.size()));
  }
  set_windows(m, window,
              [&](std::int64_t i) { return types[static_cast<std::size_t>(i)] == LayerType::Sliding; });
}

/// Every layer, unless the window is null.
void read_plain_window(ConfigFields& f, ModelSpec& m, std::int64_t absent) {
  m.attention.window = f.integer(kWindow, absent);
}

/// `period` - 1 windowed layers, then a global one.
void read_alternating_windows(ConfigFields& f, ModelSpec& m, std::int64_t absent, std::int64_t period) {
  read_windows(f, m, f.integer(kWindow, absent), [period](std::int64_t i) { return (i + 1) % period != 0; });
}

/// Qwen: the window is there but switched off in every published file. Layers from max_window_layers on use
/// it.
void read_qwen_windows(ConfigFields& f, ModelSpec& m) {
  // 0 where it is switched off: so Qwen2MoeConfig writes it.
  const std::int64_t window = f.integer(kWindow, 4096, {0, kSize.high});
  const std::int64_t first = f.integer({"max_window_layers"}, 28, {0, kSize.high});
  if (f.flag({"use_sliding_window"}, false)) {
    read_windows(f, m, window, [first](std::int64_t i) { return i >= first; });
  }
}

// --- Experts ---------------------------------------------------------------------------------------------

struct MoeFields {
  Key experts;
  std::int64_t experts_absent;
  std::int64_t top_k_absent;  // 0 = the file must say
  Key ffn;
  std::int64_t ffn_absent;
};

void read_experts(ConfigFields& f, ModelSpec& m, const MoeFields& fields) {
  m.moe.experts = f.integer(fields.experts, fields.experts_absent, kExperts);
  if (m.moe.experts == 0) {  // null: a dense model of the family
    return;
  }
  m.moe.top_k = fields.top_k_absent == 0 ? f.required(kTopK) : f.size(kTopK, fields.top_k_absent);
  if (m.moe.top_k > m.moe.experts) {
    throw f.error(kTopK, m.moe.top_k, fmt::format("at most {} ({})", m.moe.experts, fields.experts.name));
  }
  m.moe.expert_ffn = f.size(fields.ffn, fields.ffn_absent);
  m.moe.balance_coefficient = f.number({"router_aux_loss_coef", "aux_loss_alpha"}, 0.001, kCoefficient);
}

/// Layer i has experts when it is not listed in mlp_only_layers and (i + 1) % decoder_sparse_step == 0.
void read_sparse_layers(ConfigFields& f, ModelSpec& m) {
  m.moe.period = f.size({"decoder_sparse_step"}, 1);
  for (const std::int64_t layer : f.integers({"mlp_only_layers"}, {0, m.layers - 1})) {
    m.moe.dense_layers.push_back(static_cast<int>(layer));
  }
}

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

void read_latent_attention(ConfigFields& f, ModelSpec& m) {
  auto& a = m.attention;
  a.kind = AttentionKind::Latent;
  a.kv_heads = a.heads;
  a.q_lora_rank = f.integer({"q_lora_rank"}, 1536);  // null: q is projected directly (V2-Lite)
  a.kv_lora_rank = f.size({"kv_lora_rank"}, 512);
  a.qk_nope_dim = f.size({"qk_nope_head_dim"}, 128);
  a.qk_rope_dim = f.size({"qk_rope_head_dim"}, 64);
  a.v_head_dim = f.size({"v_head_dim"}, 128);
  a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
  m.rotary.interleaved = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
}

enum class ChoiceOfExperts : std::uint8_t { Greedy, Grouped, Corrected };
constexpr Named<ChoiceOfExperts> kChoices[] = {{"greedy", ChoiceOfExperts::Greedy},
                                               {"group_limited_greedy", ChoiceOfExperts::Grouped},
                                               {"noaux_tc", ChoiceOfExperts::Corrected}};
constexpr Named<costmodel::RouterScore> kScores[] = {{"softmax", costmodel::RouterScore::Softmax},
                                                     {"sigmoid", costmodel::RouterScore::Sigmoid}};

struct RouterDefaults {
  ChoiceOfExperts choice;
  costmodel::RouterScore score;
  std::int64_t groups, top_groups;
  double weight_factor;
  bool renormalise;
};

void read_deepseek_router(ConfigFields& f, ModelSpec& m, const RouterDefaults& d) {
  const std::optional<ValueReader> method = f.value({"topk_method"}), score = f.value({"scoring_func"});
  const ChoiceOfExperts choice = method ? method->choice(kChoices) : d.choice;
  m.moe.router_correction = choice == ChoiceOfExperts::Corrected;
  m.moe.score = score ? score->choice(kScores) : d.score;
  m.moe.weight_factor = f.number({"routed_scaling_factor"}, d.weight_factor, kCoefficient);
  m.moe.renormalise = f.flag({"norm_topk_prob"}, d.renormalise);
  if (choice == ChoiceOfExperts::Greedy) return;
  m.moe.groups = f.size({"n_group"}, d.groups, kExperts);
  m.moe.top_groups = f.size(kTopGroups, d.top_groups, kExperts);
  if (m.moe.top_groups > m.moe.groups)
    throw f.error(kTopGroups, m.moe.top_groups, fmt::format("at most {} (n_group)", m.moe.groups));
}

struct DeepseekDefaults {
  std::int64_t experts, shared, top_k, expert_ffn, first_k_dense;
};

/// Routed and shared experts, and the layers that have them.
void read_deepseek_experts(ConfigFields& f, ModelSpec& m, const DeepseekDefaults& d) {
  read_experts(f, m,
               {{"n_routed_experts", "num_local_experts"},
                d.experts,
                d.top_k,
                {"moe_intermediate_size"},
                d.expert_ffn});
  m.moe.shared_ffn = f.integer({"n_shared_experts"}, d.shared, {0, kExperts.high}) * m.moe.expert_ffn;
  m.moe.first_k_dense = f.integer(kFirstDense, d.first_k_dense, {0, kSize.high});
  if (m.moe.first_k_dense > m.layers) {
    throw f.error(kFirstDense, m.moe.first_k_dense, fmt::format("at most {} (num_hidden_layers)", m.layers));
  }
  const std::int64_t every = f.size({"moe_layer_freq"}, 1);
  for (std::int64_t i = m.moe.first_k_dense; every > 1 && i < m.layers; ++i) {
    if (i % every != 0) {
      m.moe.dense_layers.push_back(static_cast<int>(i));
    }
  }
}

void deepseek_v2(ConfigFields& f, ModelSpec& m) {
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

/// null: none.
double read_softcap(ConfigFields& f, Key key, double absent) {
  return f.is_null(key) ? 0 : f.number(key, absent, kCoefficient);
}

void read_gemma_scores(ConfigFields& f, ModelSpec& m, double softcap, double logit_softcap) {
  m.attention.score_width = f.number({"query_pre_attn_scalar"}, 256, {1e-6, 1e9});
  m.attention.softcap = read_softcap(f, {"attn_logit_softcapping"}, softcap);
  m.logit_softcap = read_softcap(f, {"final_logit_softcapping"}, logit_softcap);
}

void gemma2(ConfigFields& f, ModelSpec& m) {
  gemma(f, m);
  m.norms_per_layer = 4;
  read_gemma_scores(f, m, 50, 30);
  read_alternating_windows(f, m, 4096, 2);
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

/// Routing as DeepSeek-V3's in a model with grouped-query attention.
void read_corrected_experts(ConfigFields& f, ModelSpec& m, const DeepseekDefaults& d, double weight_factor,
                            bool renormalise) {
  read_deepseek_experts(f, m, d);
  read_deepseek_router(
      f, m, {ChoiceOfExperts::Corrected, costmodel::RouterScore::Sigmoid, 1, 1, weight_factor, renormalise});
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

/// Width of a head by default: 4096 / 96 rounded down.
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
  refuse_norms_of_heads(f, {"qk_layernorm"});
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
// model_type, keys, {vocab, hidden, ffn, layers, heads, kv_heads, head_dim, positions}, {norm epsilon, RoPE base, GELU}, block, activation, tied, rules
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
    {"gemma3", &kLlamaKeys, {262208, 2304, 9216, 26, 8, 4, 256, 131072}, {1e-6, 1e6, GeluForm::Tanh}, Block::Llama, Activation::Gelu, true, gemma3, "text_config"},
    {"gemma3_text", &kLlamaKeys, {262208, 2304, 9216, 26, 8, 4, 256, 131072}, {1e-6, 1e6, GeluForm::Tanh}, Block::Llama, Activation::Gelu, true, gemma3},
    {"phi3", &kLlamaKeys, {32064, 3072, 8192, 32, 32, 0, 0, 4096}, {1e-5}, Block::Llama, Activation::Silu, false, phi3},
    {"gpt_oss", &kLlamaKeys, {201088, 2880, 2880, 36, 64, 8, 64, 131072}, {1e-5, 150000}, Block::Llama, Activation::Silu, false, gpt_oss},
    {"gpt2", &kGpt2Keys, {50257, 768, 0, 12, 12, 0, 0, 1024}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, gpt2},
    {"gpt_neox", &kNeoxKeys, {50432, 6144, 24576, 44, 64, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Gelu, false, gpt_neox},
    {"bloom", &kBloomKeys, {250880, 64, 0, 2, 8, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, bloom},
    {"opt", &kOptKeys, {50272, 768, 3072, 12, 12, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Relu, true, opt},
    {"mpt", &kMptKeys, {50368, 2048, 0, 24, 16, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Gelu, true, mpt},
    {"glm", &kLlamaKeys, {151552, 4096, 13696, 40, 32, 2, 128, 131072}, {1.5625e-7}, Block::Llama, Activation::Silu, false, glm},
    {"glm4", &kLlamaKeys, {151552, 4096, 13696, 40, 32, 2, 128, 131072}, {1.5625e-7}, Block::Llama, Activation::Silu, false, glm4},
    {"glm4_moe", &kLlamaKeys, {151552, 4096, 10944, 46, 96, 8, 42, 131072}, {1e-5}, Block::Llama, Activation::Silu, false, glm4_moe},
    {"dots1", &kLlamaKeys, {152064, 4608, 10944, 62, 32, 32, 0, 2048}, {1e-6}, Block::Llama, Activation::Silu, false, dots1},
    {"ernie4_5", &kLlamaKeys, {103424, 1024, 3072, 18, 16, 2, 128, 131072}, {1e-5, 500000}, Block::Llama, Activation::Silu, true, ernie4_5},
    {"helium", &kLlamaKeys, {48000, 2560, 7040, 24, 20, 20, 128, 4096}, {1e-8, 100000}, Block::Llama, Activation::Silu, false, helium},
    {"seed_oss", &kLlamaKeys, {155136, 4096, 27648, 64, 80, 8, 128, 524288}, {1e-6}, Block::Llama, Activation::Silu, false, seed_oss},
    {"stablelm", &kLlamaKeys, {50304, 2560, 6912, 32, 32, 32, 0, 4096}, {1e-5}, Block::Llama, Activation::Silu, false, stablelm},
    {"gptj", &kGpt2Keys, {50400, 4096, 0, 28, 16, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, false, gptj},
    {"gpt_bigcode", &kGpt2Keys, {50257, 768, 0, 12, 12, 0, 0, 1024}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, gpt_bigcode},
    {"phi", &kLlamaKeys, {51200, 2048, 8192, 24, 32, 0, 0, 2048}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, false, phi},
    {"starcoder2", &kLlamaKeys, {49152, 3072, 12288, 30, 24, 2, 0, 4096}, {1e-5, 1e4, GeluForm::Tanh}, Block::Gpt, Activation::Gelu, true, starcoder2},
    {"falcon", &kFalconKeys, {65024, 4544, 0, 32, 71, 0, 0, 2048}, {1e-5}, Block::Gpt, Activation::Gelu, true, falcon},
};
// clang-format on

}  // namespace

std::span<const ModelFamily> model_families() {
  return kFamilies;
}

}  // namespace hexaplan::presets
