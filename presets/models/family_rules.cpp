#include "presets/models/family_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Defaults and rules: as in model_families.cpp.
namespace hexaplan::presets {
namespace {

using costmodel::AttentionKind;
using costmodel::ModelSpec;

constexpr Key kFirstDense{"first_k_dense_replace"};
constexpr Key kTopGroups{"topk_group"};

// --- Sliding windows -------------------------------------------------------------------------------------

/// Layers of a model, as a period where they are every n-th.
struct LayerPattern {
  std::int64_t period = 0;
  std::vector<int> listed;
};
LayerPattern pattern_of(std::int64_t layers, const LayerRule& meant) {
  std::vector<int> listed;
  for (std::int64_t i = 0; i < layers; ++i) {
    if (meant(i)) listed.push_back(static_cast<int>(i));
  }
  const std::int64_t period = listed.empty() ? 0 : listed.front() + 1;
  bool regular = period > 1 && std::ssize(listed) == layers / period;
  for (std::size_t i = 0; i < listed.size(); ++i)
    regular = regular && listed[i] + 1 == period * static_cast<std::int64_t>(i + 1);
  if (regular) return {.period = period};
  return {.listed = std::move(listed)};
}

void set_windows(ModelSpec& m, std::int64_t window, const LayerRule& windowed) {
  LayerPattern global = pattern_of(m.layers, [&](std::int64_t i) { return !windowed(i); });
  m.attention.window = std::ssize(global.listed) == m.layers ? 0 : window;
  if (m.attention.window == 0) return;
  m.attention.global_period = global.period;
  m.attention.global_layers = std::move(global.listed);
}

enum class LayerType : std::uint8_t { Full, Windowed };
constexpr Named<LayerType> kLayerTypes[] = {{"full_attention", LayerType::Full},
                                            {"sliding_attention", LayerType::Windowed},
                                            {"chunked_attention", LayerType::Windowed}};
enum class MlpType : std::uint8_t { Dense, Sparse };
constexpr Named<MlpType> kMlpTypes[] = {{"dense", MlpType::Dense}, {"sparse", MlpType::Sparse}};

/// A word for every layer; nothing without the key.
template <class Type>
std::optional<std::vector<Type>> read_layer_words(ConfigFields& f, const ModelSpec& m, Key key,
                                                  std::span<const Named<Type>> words) {
  const std::optional<ValueReader> listed = f.value(key);
  if (!listed) return std::nullopt;
  std::vector<Type> types;
  for (const ValueReader& element : listed->elements()) types.push_back(element.choice(words));
  if (static_cast<std::int64_t>(types.size()) != m.layers)
    throw listed->error(fmt::format("one entry for each of {} layers, not {}", m.layers, types.size()));
  return types;
}

enum class MixerType : std::uint8_t { Attention, Recurrent };
constexpr Named<MixerType> kMixerTypes[] = {{"full_attention", MixerType::Attention},
                                            {"attention", MixerType::Attention},
                                            {"linear_attention", MixerType::Recurrent},
                                            {"mamba", MixerType::Recurrent},
                                            {"conv", MixerType::Recurrent}};
enum class MixedType : std::uint8_t { Full, Windowed, Recurrent };
constexpr Named<MixedType> kMixedTypes[] = {{"full_attention", MixedType::Full},
                                            {"sliding_attention", MixedType::Windowed},
                                            {"linear_attention", MixedType::Recurrent}};

void set_attention_layers(ModelSpec& m, const LayerRule& attends) {
  LayerPattern pattern = pattern_of(m.layers, attends);
  if (std::ssize(pattern.listed) == m.layers) {
    m.recurrent = {};
    return;
  }
  m.recurrent.attention_period = pattern.period;
  m.recurrent.attention_layers = std::move(pattern.listed);
}

enum class BranchType : std::uint8_t { Recurrent, Attention, Mlp, Experts };
constexpr Named<BranchType> kBranchTypes[] = {{"linear_attention", BranchType::Recurrent},
                                              {"mamba", BranchType::Recurrent},
                                              {"full_attention", BranchType::Attention},
                                              {"attention", BranchType::Attention},
                                              {"mlp", BranchType::Mlp},
                                              {"moe", BranchType::Experts}};
constexpr std::pair<char, BranchType> kBranchLetters[] = {{'M', BranchType::Recurrent},
                                                          {'*', BranchType::Attention},
                                                          {'-', BranchType::Mlp},
                                                          {'E', BranchType::Experts}};

/// One kind for each layer, in words or as a letter each.
std::vector<BranchType> branches_of(ConfigFields& f, Key words_key, Key letters_key,
                                    std::vector<BranchType> absent) {
  std::vector<BranchType> branches;
  if (const auto words = f.value(words_key)) {
    for (const ValueReader& word : words->elements()) branches.push_back(word.choice(kBranchTypes));
    if (branches.empty()) throw words->error("at least one layer");
    return branches;
  }
  const auto pattern = f.value(letters_key);
  if (!pattern) return absent;
  for (const char letter : pattern->text()) {
    const auto* const found = std::ranges::find(kBranchLetters, letter, &std::pair<char, BranchType>::first);
    if (found == std::end(kBranchLetters))
      throw pattern->error("a letter for each layer: M (Mamba-2), * (attention), - (MLP) or E (experts)");
    branches.push_back(found->second);
  }
  if (branches.empty()) throw pattern->error("at least one letter");
  return branches;
}

}  // namespace

LayerRule listed_layers(ConfigFields& f, const ModelSpec& m, Key key, LayerRule absent) {
  if (!f.value(key)) return absent;
  return [layers = f.integers(key, {0, m.layers - 1})](std::int64_t i) {
    return std::ranges::find(layers, i) != layers.end();
  };
}

void read_attention_layers(ConfigFields& f, ModelSpec& m, const LayerRule& attends) {
  const auto types = read_layer_words<MixerType>(f, m, {"layer_types", "layers_block_type"}, kMixerTypes);
  set_attention_layers(m, [&](std::int64_t i) {
    return types ? (*types)[static_cast<std::size_t>(i)] == MixerType::Attention : attends(i);
  });
}

void read_mixed_layers(ConfigFields& f, ModelSpec& m, std::int64_t window, const LayerRule& attends,
                       const LayerRule& windowed) {
  const auto types = read_layer_words<MixedType>(f, m, {"layer_types"}, kMixedTypes);
  const auto is = [&](std::int64_t i, MixedType type) {
    return (*types)[static_cast<std::size_t>(i)] == type;
  };
  set_attention_layers(m, [&](std::int64_t i) { return types ? !is(i, MixedType::Recurrent) : attends(i); });
  set_windows(m, window, [&](std::int64_t i) { return types ? is(i, MixedType::Windowed) : windowed(i); });
}

void read_branches(ConfigFields& f, ModelSpec& m) {
  const std::vector<BranchType> branches =
      branches_of(f, {"layers_block_type", "layer_types"}, {"hybrid_override_pattern"},
                  {BranchType::Recurrent, BranchType::Experts, BranchType::Attention, BranchType::Mlp});
  if (f.value({"num_hidden_layers"}) && m.layers != std::ssize(branches))
    throw f.error(
        {"num_hidden_layers"}, m.layers,
        fmt::format("{}, as many as layers_block_type or hybrid_override_pattern has", branches.size()));
  m.layers = std::ssize(branches);
  m.single_branches = true;
  bool recurs = false;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const auto layer = static_cast<int>(i);
    const BranchType type = branches[i];
    recurs = recurs || type == BranchType::Recurrent;
    if (type == BranchType::Attention) m.recurrent.attention_layers.push_back(layer);
    if (type == BranchType::Mlp || type == BranchType::Experts) m.mlp_layers.push_back(layer);
    if (type != BranchType::Experts) m.moe.dense_layers.push_back(layer);
  }
  if (!recurs) m.recurrent = {};
}

void read_branch_modules(ConfigFields& f, ModelSpec& m) {
  constexpr Key kModules{"num_nextn_predict_layers"};
  constexpr Key kWords{"mtp_layers_block_type"}, kLetters{"mtp_hybrid_override_pattern"};
  m.mtp_layers = static_cast<int>(f.integer(kModules, 0, {0, kLayers.high}));
  if (m.mtp_layers == 0) return;
  const std::vector<BranchType> modelled{BranchType::Attention,
                                         m.is_moe() ? BranchType::Experts : BranchType::Mlp};
  if (branches_of(f, kWords, kLetters, {BranchType::Attention, BranchType::Experts}) == modelled) return;
  const auto layers = f.value(kWords)     ? f.value(kWords)
                      : f.value(kLetters) ? f.value(kLetters)
                                          : f.value(kModules);
  throw layers->error(fmt::format("{}: multi-token-prediction modules of other layers are not modelled",
                                  m.is_moe() ? "attention and experts (*E)" : "attention and an MLP (*-)"));
}

void set_attention_bias(ModelSpec& m, bool bias) {
  m.attention.qkv_bias = m.attention.output_bias = bias;
}

void set_score_scale(ModelSpec& m, double scale) {
  m.attention.score_width = scale > 0 ? 1 / (scale * scale) : 0;
}

double read_or_none(ConfigFields& f, Key key, double absent) {
  return f.is_null(key) ? 0 : f.number(key, absent, kCoefficient);
}

void read_windows(ConfigFields& f, ModelSpec& m, std::int64_t window, const LayerRule& windowed) {
  const auto types = read_layer_words<LayerType>(f, m, {"layer_types"}, kLayerTypes);
  set_windows(m, window, [&](std::int64_t i) {
    return types ? (*types)[static_cast<std::size_t>(i)] == LayerType::Windowed : windowed(i);
  });
}

void read_plain_window(ConfigFields& f, ModelSpec& m, std::int64_t absent) {
  m.attention.window = f.integer(kWindow, absent);
}

void read_alternating_windows(ConfigFields& f, ModelSpec& m, std::int64_t absent, std::int64_t period) {
  read_windows(f, m, f.integer(kWindow, absent), [period](std::int64_t i) { return (i + 1) % period != 0; });
}

void read_windows_behind_global(ConfigFields& f, ModelSpec& m, std::int64_t absent, std::int64_t period) {
  read_windows(f, m, f.integer(kWindow, absent, {0, kSize.high}),
               [period](std::int64_t i) { return i % period != 0; });
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

void set_unrotated(ModelSpec& m, const LayerRule& unrotated) {
  LayerPattern pattern = pattern_of(m.layers, unrotated);
  m.attention.unrotated_period = pattern.period;
  m.attention.unrotated_layers = std::move(pattern.listed);
}

void read_unrotated(ConfigFields& f, ModelSpec& m) {
  const std::int64_t period = f.size({"no_rope_layer_interval"}, 4);
  const std::vector<std::int64_t> rotated = f.integers({"no_rope_layers"}, {0, 1});
  if (!rotated.empty() && std::ssize(rotated) != m.layers)
    throw f.error({"no_rope_layers"}, std::ssize(rotated),
                  fmt::format("an entry for each of {} layers", m.layers));
  set_unrotated(m, [&](std::int64_t i) {
    return rotated.empty() ? (i + 1) % period == 0 : rotated[static_cast<std::size_t>(i)] == 0;
  });
}

// --- Experts ---------------------------------------------------------------------------------------------

void read_experts(ConfigFields& f, ModelSpec& m, const MoeFields& fields) {
  m.moe.experts = f.integer(fields.experts, fields.experts_absent, kExperts);
  if (m.moe.experts == 0) {  // null: a dense model of the family
    return;
  }
  const Key top_k = fields.top_k;
  m.moe.top_k = fields.top_k_absent == 0 ? f.required(top_k) : f.size(top_k, fields.top_k_absent);
  if (m.moe.top_k > m.moe.experts) {
    throw f.error(top_k, m.moe.top_k, fmt::format("at most {} ({})", m.moe.experts, fields.experts.name));
  }
  m.moe.expert_ffn = f.size(fields.ffn, fields.ffn_absent);
  m.moe.balance_coefficient =
      f.number({"router_aux_loss_coef", "aux_loss_alpha"}, fields.balance_absent, kCoefficient);
}

void read_sparse_layers(ConfigFields& f, ModelSpec& m) {
  m.moe.period = f.size({"decoder_sparse_step"}, 1);
  for (const std::int64_t layer : f.integers({"mlp_only_layers"}, {0, m.layers - 1})) {
    m.moe.dense_layers.push_back(static_cast<int>(layer));
  }
}

void set_expert_layers(ModelSpec& m, const LayerRule& sparse) {
  for (std::int64_t i = 0; i < m.layers; ++i) {
    if (!sparse(i)) m.moe.dense_layers.push_back(static_cast<int>(i));
  }
}

void read_mlp_layer_types(ConfigFields& f, ModelSpec& m, const LayerRule& sparse) {
  const auto types = read_layer_words<MlpType>(f, m, {"mlp_layer_types"}, kMlpTypes);
  set_expert_layers(m, [&](std::int64_t i) {
    return types ? (*types)[static_cast<std::size_t>(i)] == MlpType::Sparse : sparse(i);
  });
}

void read_latent_attention(ConfigFields& f, ModelSpec& m, const LatentDefaults& absent) {
  auto& a = m.attention;
  a.kind = AttentionKind::Latent;
  a.kv_heads = a.heads;
  a.q_lora_rank = f.integer({"q_lora_rank"}, absent.q_rank);  // null: q is projected directly (V2-Lite)
  a.kv_lora_rank = f.size({"kv_lora_rank"}, absent.kv_rank);
  a.qk_nope_dim = f.size({"qk_nope_head_dim"}, absent.nope);
  a.qk_rope_dim = f.size({"qk_rope_head_dim"}, absent.rope);
  a.v_head_dim = f.size({"v_head_dim"}, absent.value);
  a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
  m.rotary.interleaved = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  // The default of the norms' class, which the latents' norms keep.
  constexpr double kLatentEpsilon = 1e-6;
  if (m.norm_epsilon != kLatentEpsilon) m.own_rule = "norms of latents with an epsilon of their own";
}

namespace {

constexpr Named<ChoiceOfExperts> kChoices[] = {{"greedy", ChoiceOfExperts::Greedy},
                                               {"group_limited_greedy", ChoiceOfExperts::Grouped},
                                               {"noaux_tc", ChoiceOfExperts::Corrected}};
constexpr Named<costmodel::RouterScore> kScores[] = {{"softmax", costmodel::RouterScore::Softmax},
                                                     {"sigmoid", costmodel::RouterScore::Sigmoid}};

}  // namespace

costmodel::RouterScore read_router_score(ConfigFields& f, Key key, costmodel::RouterScore absent) {
  const std::optional<ValueReader> score = f.value(key);
  return score ? score->choice(kScores) : absent;
}

void read_deepseek_router(ConfigFields& f, ModelSpec& m, const RouterDefaults& d) {
  const std::optional<ValueReader> method = f.value({"topk_method"});
  const ChoiceOfExperts choice = method ? method->choice(kChoices) : d.choice;
  m.moe.router_correction = choice == ChoiceOfExperts::Corrected;
  m.moe.score = read_router_score(f, {"scoring_func"}, d.score);
  m.moe.weight_factor = f.number({"routed_scaling_factor"}, d.weight_factor, kCoefficient);
  m.moe.renormalise = f.flag({"norm_topk_prob"}, d.renormalise);
  if (choice == ChoiceOfExperts::Greedy) return;
  m.moe.groups = f.size({"n_group"}, d.groups, kExperts);
  m.moe.top_groups = f.size(kTopGroups, d.top_groups, kExperts);
  if (m.moe.top_groups > m.moe.groups)
    throw f.error(kTopGroups, m.moe.top_groups, fmt::format("at most {} (n_group)", m.moe.groups));
}

void read_deepseek_experts(ConfigFields& f, ModelSpec& m, const DeepseekDefaults& d) {
  read_experts(f, m, {d.experts_key, d.experts, d.top_k, {"moe_intermediate_size"}, d.expert_ffn});
  m.moe.shared_ffn = f.integer(d.shared_key, d.shared, {0, kExperts.high}) * m.moe.expert_ffn;
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

void refuse_shared_biases(ConfigFields& f, Key key) {
  if (const auto bias = f.value(key); bias && bias->boolean())
    throw bias->error("false: biases of shared experts are not modelled");
}

void read_corrected_experts(ConfigFields& f, ModelSpec& m, const DeepseekDefaults& d, double weight_factor,
                            bool renormalise) {
  read_deepseek_experts(f, m, d);
  read_deepseek_router(
      f, m, {ChoiceOfExperts::Corrected, costmodel::RouterScore::Sigmoid, 1, 1, weight_factor, renormalise});
}

}  // namespace hexaplan::presets
