#pragma once
#include "validator/layers/linear.h"
#include "validator/layers/norm.h"
#include "validator/parallel/data.h"

namespace hexaplan::validator {

struct MlpSaved {
  Tensor gate_up, activation;
};

/// SwiGLU (arXiv:2002.05202 §2) of normed tokens: up to the input of the last matrix, which backward needs.
void mlp_forward_to_activation(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep,
                               MlpSaved& saved);
/// The last matrix: this rank's tokens of the sum, under `result`.
[[nodiscard]] Tensor mlp_forward_from_activation(const Rank& rank, const Unit& unit, const MlpSaved& saved,
                                                 const TensorLabel& result);
/// Gradient of the normed tokens, given d, that of the output. Takes what was saved.
[[nodiscard]] Tensor mlp_backward(Rank& rank, const Unit& unit, Tensor normed, MlpSaved saved, const View& d,
                                  WeightGradients& weights);

}  // namespace hexaplan::validator
