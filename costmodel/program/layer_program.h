#pragma once
#include "costmodel/program/ops.h"
#include "costmodel/spec/model_spec.h"

namespace hexaplan::costmodel::program {

// Forward passes on one rank without any technique, one row per operation: what passes start from.

/// A transformer layer of class `kind`.
[[nodiscard]] Program forward_layer(const ModelSpec& model, LayerClass kind);
/// The table look-up.
[[nodiscard]] Program forward_embedding(const ModelSpec& model);
/// What a multi-token-prediction module makes of the hidden states before it and of the next tokens'
/// embeddings, for a layer of its own: both normalised, side by side, through the projection 2h -> h, whose
/// halves are products of their own here. [arXiv:2412.19437 §2.2, equation 21]
[[nodiscard]] Program forward_mtp(const ModelSpec& model);
/// The norm between the hidden states of the last layer, or of a module, and what reads them: the output
/// layer and the next module (NVIDIA/Megatron-LM megatron/core/transformer/multi_token_prediction.py hands on
/// what final_layernorm made).
[[nodiscard]] Program forward_final_norm(const ModelSpec& model, Parameter weight, Parameter bias);
/// Final norm, output layer and loss. `fused_loss`: the gradient overwrites the logits while the loss is
/// made (Liger, arXiv:2410.10989 §3.2); otherwise it is a tensor of its own. `norm_apart`: the norm is a
/// program of its own, and its results stay for others.
[[nodiscard]] Program forward_head(const ModelSpec& model, bool fused_loss, bool norm_apart = false);

}  // namespace hexaplan::costmodel::program
