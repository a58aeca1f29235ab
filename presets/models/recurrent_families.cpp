#include "presets/models/recurrent_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "presets/models/dense_families.h"
#include "presets/models/family_rules.h"

// Defaults and rules: huggingface/transformers v5.24.0, as in model_families.cpp.
namespace hexaplan::presets {
namespace {

using costmodel::ModelSpec;
using costmodel::RecurrentKind;
using costmodel::RecurrentSpec;
using costmodel::RouterScore;

void check_groups(const ConfigFields& f, const RecurrentSpec& r, Key heads, Key groups) {
  if (r.heads % r.groups != 0)
    throw f.error(heads, r.heads, fmt::format("a multiple of {} ({})", r.groups, groups.name));
}

void read_delta_widths(ConfigFields& f, RecurrentSpec& r, std::int64_t value_heads, std::int64_t key_heads) {
  constexpr Key kValueHeads{"linear_num_value_heads"}, kKeyHeads{"linear_num_key_heads"};
  r.kind = RecurrentKind::GatedDeltaNet;
  r.heads = f.size(kValueHeads, value_heads);
  r.head_dim = f.size({"linear_value_head_dim"}, 128);
  r.groups = f.size(kKeyHeads, key_heads);
  r.state = f.size({"linear_key_head_dim"}, 128);
  r.kernel = f.size({"linear_conv_kernel_dim"}, 4);
  check_groups(f, r, kValueHeads, kKeyHeads);
}

/// The delta rule in all layers but every full_attention_interval-th, which have gated attention.
void read_gated_delta_net(ConfigFields& f, ModelSpec& m) {
  m.zero_centered_norm = true;
  m.attention.qk_norm = m.attention.output_gate = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.rotary.share = 0.25;
  read_delta_widths(f, m.recurrent, 32, 16);
  const std::int64_t period = f.size({"full_attention_interval"}, 4);
  read_attention_layers(f, m, [period](std::int64_t i) { return (i + 1) % period == 0; });
}

/// One multi-token-prediction module, which attends as the model's last layer does
/// (vllm-project/vllm vllm/model_executor/models/qwen3_next_mtp.py). Transformers builds none.
void read_attending_module(ConfigFields& f, ModelSpec& m) {
  constexpr Key kModules{"mtp_num_hidden_layers", "num_nextn_predict_layers"};
  m.mtp_layers = static_cast<int>(f.integer(kModules, 0, {0, kLayers.high}));
  if (m.mtp_layers == 0) return;
  if (m.mtp_layers > 1)
    throw f.error(kModules, m.mtp_layers, "0 or 1: several layers behind one projection are not modelled");
  if (class_of_layer(m, m.layers - 1).recurrent)
    throw f.error(kModules, m.mtp_layers, "0, or a last layer that attends as the module does");
  const auto own_table = f.value({"mtp_use_dedicated_embeddings"});
  if (own_table && own_table->boolean())
    throw own_table->error("false: a module with an embedding of its own is not modelled");
}

/// One expert that all tokens visit, behind a gate.
void read_shared_expert(ConfigFields& f, ModelSpec& m) {
  m.moe.shared_ffn = f.integer({"shared_expert_intermediate_size"}, 512);
  m.moe.shared_gate = m.moe.shared_ffn > 0;
}

}  // namespace

void qwen3_next(ConfigFields& f, ModelSpec& m) {
  read_gated_delta_net(f, m);
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 512, 10, {"moe_intermediate_size"}, 512});
  read_sparse_layers(f, m);
  m.moe.renormalise = f.flag({"norm_topk_prob"}, true);
  read_shared_expert(f, m);
  read_attending_module(f, m);
}

void qwen3_5_text(ConfigFields& f, ModelSpec& m) {
  read_gated_delta_net(f, m);
  read_attending_module(f, m);
}

/// Experts in every layer; the files have no dense width.
void qwen3_5_moe_text(ConfigFields& f, ModelSpec& m) {
  read_gated_delta_net(f, m);
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 256, 8, {"moe_intermediate_size"}, 512});
  m.moe.renormalise = true;
  m.mlp.ffn = m.moe.expert_ffn;
  read_shared_expert(f, m);
  read_attending_module(f, m);
}

/// Gated delta nets between Qwen-3's attention, windowed or without positions; experts in every layer.
void lara_mini(ConfigFields& f, ModelSpec& m) {
  m.attention.qk_norm = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  read_delta_widths(f, m.recurrent, 16, 8);
  read_mixed_layers(
      f, m, f.integer({"sliding_window"}, 512, {0, kSize.high}),
      [](std::int64_t i) { return i % 5 != 0 && i % 5 != 2; },
      [](std::int64_t i) { return i % 5 == 1 || i % 5 == 4; });
  set_global_unrotated(m);
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 128, 4, {"moe_intermediate_size"}, 512});
  m.mlp.ffn = m.moe.expert_ffn;
  m.moe.renormalise = f.flag({"norm_topk_prob"}, true);
  m.moe.shared_ffn = f.integer({"shared_expert_intermediate_size"}, 512);
}

namespace {

/// What a family calls Mamba-2's widths, and what its class takes where a file says nothing.
struct Mamba2Fields {
  Key heads, head_dim, groups, state, kernel, chunk, convolution_bias, bias;
  std::int64_t groups_absent, state_absent, chunk_absent;
};
constexpr Mamba2Fields kMamba2Fields{.heads = {"num_heads"},
                                     .head_dim = {"head_dim"},
                                     .groups = {"n_groups"},
                                     .state = {"state_size"},
                                     .kernel = {"conv_kernel"},
                                     .chunk = {"chunk_size"},
                                     .convolution_bias = {"use_conv_bias"},
                                     .bias = {"use_bias"},
                                     .groups_absent = 8,
                                     .state_absent = 128,
                                     .chunk_absent = 256};
constexpr Mamba2Fields kBambaFields{.heads = {"mamba_n_heads"},
                                    .head_dim = {"mamba_d_head"},
                                    .groups = {"mamba_n_groups"},
                                    .state = {"mamba_d_state"},
                                    .kernel = {"mamba_d_conv"},
                                    .chunk = {"mamba_chunk_size"},
                                    .convolution_bias = {"mamba_conv_bias"},
                                    .bias = {"mamba_proj_bias"},
                                    .groups_absent = 1,
                                    .state_absent = 256,
                                    .chunk_absent = 256};
constexpr Mamba2Fields kNemotronFields{.heads = {"mamba_num_heads"},
                                       .head_dim = {"mamba_head_dim"},
                                       .groups = {"n_groups", "mamba_n_groups"},
                                       .state = {"ssm_state_size"},
                                       .kernel = {"conv_kernel", "mamba_d_conv"},
                                       .chunk = {"chunk_size", "mamba_chunk_size"},
                                       .convolution_bias = {"use_conv_bias", "mamba_conv_bias"},
                                       .bias = {"use_bias"},
                                       .groups_absent = 8,
                                       .state_absent = 128,
                                       .chunk_absent = 128};

/// All but the width of a head, which may follow from the others.
void read_mamba2_fields(ConfigFields& f, RecurrentSpec& r, const Mamba2Fields& fields) {
  r.kind = RecurrentKind::Mamba2;
  r.heads = f.size(fields.heads, 128);
  r.groups = f.size(fields.groups, fields.groups_absent);
  r.state = f.size(fields.state, fields.state_absent);
  r.kernel = f.size(fields.kernel, 4);
  r.chunk = f.size(fields.chunk, fields.chunk_absent);
  r.convolution_bias = f.flag(fields.convolution_bias, true);
  r.bias = r.output_bias = f.flag(fields.bias, false);
  check_groups(f, r, fields.heads, fields.groups);
}

}  // namespace

/// Mixers alone: no attention, no MLP, no positions.
void mamba2(ConfigFields& f, ModelSpec& m) {
  m.single_branches = true;
  m.norms_per_layer = 1;
  m.mlp.ffn = 0;
  m.positions = costmodel::PositionKind::None;
  RecurrentSpec& r = m.recurrent;
  read_mamba2_fields(f, r, kMamba2Fields);
  r.head_dim = f.size(kMamba2Fields.head_dim, 64);
  const std::int64_t expanded = f.size({"expand"}, 2) * m.hidden;
  if (r.values() != expanded)
    throw f.error(kMamba2Fields.heads, r.heads,
                  fmt::format("heads of {} that make expand·hidden_size = {} columns", r.head_dim, expanded));
  if (f.flag({"residual_in_fp32"}, true)) m.own_rule = "residual streams in fp32";
}

std::int64_t expanded_columns(ConfigFields& f, const ModelSpec& m) {
  return f.size({"mamba_expand"}, 2) * m.hidden;
}

void read_mamba2(ConfigFields& f, ModelSpec& m, std::int64_t values) {
  RecurrentSpec& r = m.recurrent;
  read_mamba2_fields(f, r, kBambaFields);
  if (values % r.heads != 0)
    throw f.error(kBambaFields.heads, r.heads, fmt::format("a divisor of {} columns", values));
  const std::optional<ValueReader> width = f.value(kBambaFields.head_dim);
  const bool follows = !width || width->json().get_if<std::string>() != nullptr;  // "auto"
  r.head_dim = follows ? values / r.heads : width->integer(kSize);
  if (r.values() != values)
    throw f.error(kBambaFields.head_dim, r.head_dim,
                  fmt::format("{}: {} columns of {} heads", values / r.heads, values, r.heads));
}

/// Half of a head's columns are rotated, whatever the file says.
void bamba(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.mlp.bias = f.flag({"mlp_bias"}, false);
  m.rotary.share = 0.5;
  read_mamba2(f, m, expanded_columns(f, m));
  read_attention_layers(f, m,
                        listed_layers(f, m, {"attn_layer_indices"}, [](std::int64_t) { return false; }));
}

/// Attention and Mamba-2 read the same normed input; their results are added.
void falcon_h1(ConfigFields& f, ModelSpec& m) {
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.mlp.bias = f.flag({"mlp_bias"}, false);
  m.embedding_multiplier = f.number({"embedding_multiplier"}, 1, kCoefficient);
  m.logit_multiplier = f.number({"lm_head_multiplier"}, 1, kCoefficient);
  const std::int64_t said = f.integer({"mamba_d_ssm"}, 1024);
  read_mamba2(f, m, said == 0 ? expanded_columns(f, m) : said);
  m.recurrent.output_bias = f.flag({"projectors_bias"}, false);
  m.recurrent.norm = f.flag({"mamba_rms_norm"}, false);
  m.recurrent.beside_attention = true;
  m.own_rule = "multipliers of single projections (ssm_multipliers, key_multiplier, mlp_multipliers)";
}

namespace {

void read_nemotron_experts(ConfigFields& f, ModelSpec& m) {
  if (std::ssize(m.moe.dense_layers) == m.layers) {
    m.moe = {};
    return;
  }
  refuse_shared_biases(f, {"mlp_bias"});
  if (const auto latent = f.value({"moe_latent_size"}))
    throw latent->error("null: experts that work in a latent space are not modelled");
  const std::vector<int> dense = m.moe.dense_layers;
  read_corrected_experts(
      f, m, {.experts = 8, .shared = 0, .top_k = 2, .expert_ffn = 7688, .first_k_dense = 0}, 1.0, true);
  m.moe.dense_layers = dense;
  m.moe.shared_ffn = f.size({"moe_shared_expert_intermediate_size"}, 7688);
}

}  // namespace

/// A mixer, an MLP or experts in a layer. Neither its attention nor its Mamba-2 has positions.
void nemotron_h(ConfigFields& f, ModelSpec& m) {
  m.tied_embeddings = false;  // its code ties nothing, whatever the file says
  m.positions = costmodel::PositionKind::None;
  m.mlp.gated = false;
  m.mlp.bias = f.flag({"mlp_bias"}, false);
  read_mamba2_fields(f, m.recurrent, kNemotronFields);
  m.recurrent.head_dim = f.size(kNemotronFields.head_dim, 64);
  read_branches(f, m);
  read_nemotron_experts(f, m);
  read_branch_modules(f, m);
}

namespace {

/// What a family calls Mamba-1's widths.
struct Mamba1Fields {
  Key state, kernel, rank, convolution_bias, bias;
};
constexpr Mamba1Fields kMamba1Fields{.state = {"state_size"},
                                     .kernel = {"conv_kernel"},
                                     .rank = {"time_step_rank"},
                                     .convolution_bias = {"use_conv_bias"},
                                     .bias = {"use_bias"}};
constexpr Mamba1Fields kJambaFields{.state = {"mamba_d_state"},
                                    .kernel = {"mamba_d_conv"},
                                    .rank = {"mamba_dt_rank"},
                                    .convolution_bias = {"mamba_conv_bias"},
                                    .bias = {"mamba_proj_bias"}};

/// Tokens between which the kernel keeps a state (state-spaces/mamba csrc/selective_scan/selective_scan.cpp).
constexpr std::int64_t kSelectiveChunk = 2048;

void read_mamba1_fields(ConfigFields& f, ModelSpec& m, const Mamba1Fields& fields, std::int64_t columns) {
  RecurrentSpec& r = m.recurrent;
  r = {.kind = RecurrentKind::Mamba1, .heads = columns, .head_dim = 1, .groups = 1};
  r.state = f.size(fields.state, 16);
  r.kernel = f.size(fields.kernel, 4);
  r.chunk = kSelectiveChunk;
  const std::optional<ValueReader> rank = f.value(fields.rank);
  const bool follows = !rank || rank->json().get_if<std::string>() != nullptr;  // "auto"
  r.rank = follows ? (m.hidden + 15) / 16 : rank->integer(kSize);
  r.convolution_bias = f.flag(fields.convolution_bias, true);
  r.bias = r.output_bias = f.flag(fields.bias, false);
  r.norm = false;
}

/// Mixers alone. The width that a file says stands above what its expansion gives.
void read_mamba1_alone(ConfigFields& f, ModelSpec& m) {
  m.single_branches = true;
  m.norms_per_layer = 1;
  m.mlp.ffn = 0;
  m.positions = costmodel::PositionKind::None;
  read_mamba1_fields(f, m, kMamba1Fields, f.size({"intermediate_size"}, f.size({"expand"}, 2) * m.hidden));
  if (f.flag({"residual_in_fp32"}, true)) m.own_rule = "residual streams in fp32";
}

}  // namespace

void mamba(ConfigFields& f, ModelSpec& m) {
  read_mamba1_alone(f, m);
}

/// Steps, B and C are normed without weights.
void falcon_mamba(ConfigFields& f, ModelSpec& m) {
  read_mamba1_alone(f, m);
  m.recurrent.operand_norms = costmodel::OperandNorms::Fixed;
}

/// Every so many layers attend, without positions, and every so many have experts.
void jamba(ConfigFields& f, ModelSpec& m) {
  constexpr Key kAttends{"attn_layer_offset"}, kExpertLayers{"expert_layer_offset"};
  m.positions = costmodel::PositionKind::None;
  read_mamba1_fields(f, m, kJambaFields, expanded_columns(f, m));
  m.recurrent.operand_norms = costmodel::OperandNorms::Trained;
  const auto once_in = [&](Key period, std::int64_t period_absent, Key offset, std::int64_t absent) {
    const std::int64_t every = f.size(period, period_absent), at = f.integer(offset, absent, {0, kSize.high});
    if (at >= every) throw f.error(offset, at, fmt::format("less than {} ({})", every, period.name));
    return [every, at](std::int64_t i) { return i % every == at; };
  };
  read_attention_layers(f, m, once_in({"attn_layer_period"}, 8, kAttends, 4));
  const LayerRule sparse = once_in({"expert_layer_period"}, 2, kExpertLayers, 1);
  constexpr Key kExpertsOfLayer{"num_experts", "num_local_experts"};
  if (f.size(kExpertsOfLayer, 16) == 1) return;  // a dense model of the family
  read_experts(f, m, {kExpertsOfLayer, 16, 2, {"intermediate_size"}, m.mlp.ffn});
  set_expert_layers(m, sparse);
}

namespace {

/// MiniMax's own files have a number for each layer: 1 where it attends.
LayerRule minimax_attends(ConfigFields& f, const ModelSpec& m) {
  constexpr Key kTypes{"attn_type_list"};
  if (!f.value(kTypes)) return [](std::int64_t i) { return i % 2 == 0; };
  std::vector<std::int64_t> types = f.integers(kTypes, {0, 1});
  if (std::ssize(types) != m.layers)
    throw f.error(kTypes, std::ssize(types),
                  fmt::format("one entry for each of {} layers, not {}", m.layers, types.size()));
  return [types = std::move(types)](std::int64_t i) { return types[static_cast<std::size_t>(i)] == 1; };
}

}  // namespace

/// Lightning attention in every second layer, experts in all. Residual streams go on from what norms made.
void minimax(ConfigFields& f, ModelSpec& m) {
  RecurrentSpec& r = m.recurrent;
  const costmodel::AttentionSpec& a = m.attention;
  r = {.kind = RecurrentKind::Lightning, .heads = a.heads, .head_dim = a.head_dim, .groups = a.heads};
  r.state = a.head_dim;
  r.kernel = 1;  // no convolution
  r.chunk = f.size({"block_size"}, 256);
  m.own_rule = "residual streams that go on from norms, times factors of their own";
  read_plain_window(f, m, 0);
  read_attention_layers(f, m, minimax_attends(f, m));
  if (const auto shared = f.value({"shared_intermediate_size"});
      shared && shared->integer({0, kSize.high}) > 0)
    throw shared->error("0: MiniMax's shared experts are not modelled");
  m.moe.renormalise = true;
  read_experts(f, m, {{"num_local_experts", "num_experts"}, 8, 2, {"intermediate_size"}, m.mlp.ffn});
}

namespace {

/// Published files number the layers that attend from 1 on.
LayerRule kimi_attends(ConfigFields& linear, const ModelSpec& m, LayerRule absent) {
  if (!linear.value({"full_attn_layers"}) || !linear.value({"kda_layers"})) return absent;
  return [layers = linear.integers({"full_attn_layers"}, {1, m.layers})](std::int64_t i) {
    return std::ranges::find(layers, i + 1) != layers.end();
  };
}

/// Published files have the widths, and the layers, in an object of their own.
void read_kimi_delta(ConfigFields& f, ModelSpec& m) {
  RecurrentSpec& r = m.recurrent;
  r.kind = RecurrentKind::KimiDelta;
  r.heads = f.size({"linear_num_heads"}, 32);
  r.head_dim = f.size({"linear_head_dim"}, 128);
  r.kernel = f.size({"linear_conv_kernel_dim"}, 4);
  LayerRule attends = [](std::int64_t i) { return i > 0 && i % 4 == 0; };
  if (f.value({"linear_attn_config"})) {
    ConfigFields linear = f.within({"linear_attn_config"});
    r.heads = linear.size({"num_heads"}, r.heads);
    r.head_dim = linear.size({"head_dim"}, r.head_dim);
    r.kernel = linear.size({"short_conv_kernel_size"}, r.kernel);
    attends = kimi_attends(linear, m, attends);
  }
  r.groups = r.heads;
  r.state = r.rank = r.head_dim;
  read_attention_layers(f, m, attends);
}

}  // namespace

/// KDA between layers of latent attention without positions. Its class ties nothing.
void kimi_linear(ConfigFields& f, ModelSpec& m) {
  m.tied_embeddings = false;
  m.positions = costmodel::PositionKind::None;
  read_latent_attention(f, m, {.q_rank = 0});
  read_kimi_delta(f, m);
  read_experts(f, m,
               {{"num_experts", "num_local_experts"},
                256,
                8,
                {"moe_intermediate_size"},
                1024,
                {"num_experts_per_token", "num_experts_per_tok"}});
  if (f.value({"mlp_layer_types"})) {
    read_mlp_layer_types(f, m, [](std::int64_t) { return true; });
  } else {
    m.moe.first_k_dense = f.integer({"first_k_dense_replace"}, 1, {0, kSize.high});
  }
  m.moe.shared_ffn =
      f.integer({"num_shared_experts", "n_shared_experts"}, 1, {0, kExperts.high}) * m.moe.expert_ffn;
  m.moe.score = RouterScore::Sigmoid;
  m.moe.router_correction = true;
  m.moe.weight_factor = f.number({"routed_scaling_factor"}, 2.446, kCoefficient);
  m.moe.renormalise = f.flag({"moe_renormalize", "norm_topk_prob"}, true);
  m.moe.groups = f.size({"num_expert_group", "n_group"}, 1, kExperts);
  m.moe.top_groups = f.size({"topk_group"}, 1, kExperts);
  if (m.moe.top_groups > m.moe.groups)
    throw f.error({"topk_group"}, m.moe.top_groups,
                  fmt::format("at most {} (num_expert_group)", m.moe.groups));
}

/// Gated delta nets, whose norms precede, between layers of OLMo-3's attention, whose norms follow.
void olmo_hybrid(ConfigFields& f, ModelSpec& m) {
  m.norms_behind_branches = true;
  m.attention.qk_norm = true;
  m.attention.qk_norm_scope = costmodel::QkNormScope::Row;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  RecurrentSpec& r = m.recurrent;
  constexpr Key kValueHeads{"linear_num_value_heads"}, kKeyHeads{"linear_num_key_heads"};
  r.kind = RecurrentKind::GatedDeltaNet;
  r.groups = f.size(kKeyHeads, m.attention.heads);
  r.heads = f.size(kValueHeads, m.attention.heads);
  r.state = f.size({"linear_key_head_dim"}, std::max<std::int64_t>(1, 3 * m.hidden / 4 / r.groups));
  r.head_dim = f.size({"linear_value_head_dim"}, 2 * r.state);
  r.kernel = f.size({"linear_conv_kernel_dim"}, 4);
  check_groups(f, r, kValueHeads, kKeyHeads);
  read_attention_layers(f, m, [n = m.layers](std::int64_t i) { return i % 4 == 3 || (n < 4 && i == n - 1); });
  const std::optional<ValueReader> rope = f.value({"rope_parameters"});
  if (rope && f.within({"rope_parameters"}).is_null({"rope_theta"}))
    m.positions = costmodel::PositionKind::None;
}

namespace {
void read_short_convolutions(ConfigFields& f, ModelSpec& m) {
  m.tied_embeddings = f.flag({"tie_embedding"}, m.tied_embeddings);
  m.attention.qk_norm = true;
  RecurrentSpec& r = m.recurrent;
  r = {.kind = RecurrentKind::ShortConvolution, .heads = m.hidden, .head_dim = 1};
  r.kernel = f.size({"conv_L_cache"}, 3);
  r.bias = r.output_bias = r.convolution_bias = f.flag({"conv_bias"}, false);
}
}  // namespace

/// intermediate_size is that of a plain MLP, of which a gated one has two thirds, rounded up.
void lfm2(ConfigFields& f, ModelSpec& m) {
  read_short_convolutions(f, m);
  m.mlp.ffn = f.size({"block_ff_dim"}, m.mlp.ffn);
  if (f.flag({"block_auto_adjust_ff_dim"}, true)) {
    m.mlp.ffn = 2 * m.mlp.ffn / 3;
    const std::int64_t unit = f.size({"block_multiple_of"}, 256);
    if (!f.is_null({"block_ffn_dim_multiplier"})) {
      const double factor = f.number({"block_ffn_dim_multiplier"}, 1, kCoefficient);
      m.mlp.ffn = static_cast<std::int64_t>(factor * static_cast<double>(m.mlp.ffn));
      m.mlp.ffn = (m.mlp.ffn + unit - 1) / unit * unit;
    }
  }
  read_attention_layers(f, m, listed_layers(f, m, {"full_attn_idxs"}, [](std::int64_t) { return true; }));
}

void lfm2_moe(ConfigFields& f, ModelSpec& m) {
  read_short_convolutions(f, m);
  if (!f.value({"layer_types"}))
    throw f.error({"layer_types"}, 0, "\"conv\" or \"full_attention\" for each layer");
  read_attention_layers(f, m, [](std::int64_t) { return true; });
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 32, 4, {"moe_intermediate_size"}, 1792});
  m.moe.first_k_dense = f.integer({"num_dense_layers"}, 2, {0, kSize.high});
  m.moe.router_correction = f.flag({"use_expert_bias"}, true);
  m.moe.score = RouterScore::Sigmoid;
  m.moe.renormalise = f.flag({"norm_topk_prob"}, true);
  m.moe.weight_factor = f.number({"routed_scaling_factor"}, 1, kCoefficient);
}

}  // namespace hexaplan::presets
