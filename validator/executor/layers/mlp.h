#pragma once
#include <cstdint>
#include <string_view>

#include "validator/executor/layers/linear.h"
#include "validator/executor/layers/norm.h"
#include "validator/executor/parallel/data.h"

namespace hexaplan::validator {

struct MlpSaved {
  Tensor gate_up, activation;
};

/// Which SwiGLU of a layer: its names in the operation list, the ledger and among the parameters, and its
/// widths on one rank.
struct MlpPart {
  std::string_view enter, up, down, leave;
  std::string_view saved_gate_up, saved_activation;
  std::string_view gate_up_weight, down_weight;
  std::int64_t costmodel::LocalDims::*up_width;
  std::int64_t costmodel::LocalDims::*activation_width;
};
extern const MlpPart kDenseMlp, kSharedExperts;

/// SwiGLU (arXiv:2002.05202 §2) of normed tokens: up to the input of the last matrix, which backward needs.
void mlp_forward_to_activation(const Rank& rank, const MlpPart& part, const Unit& unit, const View& normed,
                               const Keeping& keep, MlpSaved& saved);
/// The last matrix: this rank's tokens of the sum, under `result`.
[[nodiscard]] Tensor mlp_forward_from_activation(const Rank& rank, const MlpPart& part, const Unit& unit,
                                                 const MlpSaved& saved, const TensorLabel& result);
/// Gradient of the normed tokens, given d, that of the output. Takes what was saved.
[[nodiscard]] Tensor mlp_backward(Rank& rank, const MlpPart& part, const Unit& unit, Tensor normed,
                                  MlpSaved saved, const View& d, WeightGradients& weights);

}  // namespace hexaplan::validator
