#pragma once
#include "validator/executor/layers/linear.h"
#include "validator/executor/layers/norm.h"
#include "validator/executor/parallel/data.h"

namespace hexaplan::validator {

/// Kept between forward and backward.
struct AttentionSaved {
  Tensor query_key_value;  // after rotation
  Tensor output;           // input of the output projection
  Tensor log_sum_exp;      // empty under selective recomputation
};

/// Grouped-query attention of normed tokens, this rank's heads (arXiv:2305.13245); `positions`: N×1. Returns
/// this rank's tokens of the output projection's sum, under `result`.
[[nodiscard]] Tensor attention_forward(const Rank& rank, const Unit& unit, const View& normed,
                                       const View& positions, const Keeping& keep, const TensorLabel& result,
                                       AttentionSaved& saved);
/// Gradient of the normed tokens, given d, that of the output. Takes what was saved.
[[nodiscard]] Tensor attention_backward(Rank& rank, const Unit& unit, Tensor normed, const View& positions,
                                        AttentionSaved saved, const View& d, WeightGradients& weights);

}  // namespace hexaplan::validator
