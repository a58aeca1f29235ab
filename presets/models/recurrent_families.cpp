#include "presets/models/recurrent_families.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

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

/// The delta rule in all layers but every full_attention_interval-th, which have gated attention.
void read_gated_delta_net(ConfigFields& f, ModelSpec& m) {
  constexpr Key kValueHeads{"linear_num_value_heads"}, kKeyHeads{"linear_num_key_heads"};
  m.zero_centered_norm = true;
  m.attention.qk_norm = m.attention.output_gate = true;
  set_attention_bias(m, f.flag({"attention_bias"}, false));
  m.rotary.share = 0.25;
  RecurrentSpec& r = m.recurrent;
  r.kind = RecurrentKind::GatedDeltaNet;
  r.heads = f.size(kValueHeads, 32);
  r.head_dim = f.size({"linear_value_head_dim"}, 128);
  r.groups = f.size(kKeyHeads, 16);
  r.state = f.size({"linear_key_head_dim"}, 128);
  r.kernel = f.size({"linear_conv_kernel_dim"}, 4);
  check_groups(f, r, kValueHeads, kKeyHeads);
  const std::int64_t period = f.size({"full_attention_interval"}, 4);
  read_attention_layers(f, m, [period](std::int64_t i) { return (i + 1) % period == 0; });
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
}

void qwen3_5_text(ConfigFields& f, ModelSpec& m) {
  read_gated_delta_net(f, m);
}

/// Experts in every layer; the files have no dense width.
void qwen3_5_moe_text(ConfigFields& f, ModelSpec& m) {
  read_gated_delta_net(f, m);
  read_experts(f, m, {{"num_experts", "num_local_experts"}, 256, 8, {"moe_intermediate_size"}, 512});
  m.moe.renormalise = true;
  m.mlp.ffn = m.moe.expert_ffn;
  read_shared_expert(f, m);
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

/// A mixer, an MLP or experts in a layer. Neither its attention nor its Mamba-2 has positions.
void nemotron_h(ConfigFields& f, ModelSpec& m) {
  m.tied_embeddings = false;  // its code ties nothing, whatever the file says
  m.positions = costmodel::PositionKind::None;
  m.mlp.gated = false;
  m.mlp.bias = f.flag({"mlp_bias"}, false);
  read_mamba2_fields(f, m.recurrent, kNemotronFields);
  m.recurrent.head_dim = f.size(kNemotronFields.head_dim, 64);
  read_branches(f, m);
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
