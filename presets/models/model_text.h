#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/model_spec.h"

namespace hexaplan::presets {

/// Reads a model by its dimensions, "layers=4 hidden=256 heads=8 kv_heads=2 ffn=688 vocab=1000": words in any
/// order, separated by blanks. What is not said is as in Llama: RMSNorm before attention and MLP, SwiGLU,
/// rotary positions, no biases.
///   dense      layers hidden heads ffn vocab (required); kv_heads (= heads), head_dim (= hidden / heads),
///              max_positions
///   attention  window, global_period (every n-th layer attends globally), q_lora kv_lora qk_nope qk_rope
///              v_head_dim (multi-head latent attention, when kv_lora is given)
///   experts    experts top_k expert_ffn (= ffn) shared_ffn first_k_dense moe_period
///   behind     mtp_layers (multi-token-prediction modules)
///   flags      tied, qkv_bias, output_bias, qk_norm, output_gate (of attention), mlp_bias, layer_norm,
///              norm_bias, gelu (two matrices), learned_positions, renormalise
/// InputError with `field` for an unknown word (and the nearest one), a word twice, a number out of range or
/// a required one that is missing.
[[nodiscard]] costmodel::ModelSpec parse_model_text(std::string_view text, std::string_view field);

/// The shortest text that reads back the same model in what its words can say.
[[nodiscard]] std::string to_model_text(const costmodel::ModelSpec& model);

/// True for what is meant for parse_model_text, with a '=', and not a path.
[[nodiscard]] bool is_model_text(std::string_view text);

}  // namespace hexaplan::presets
