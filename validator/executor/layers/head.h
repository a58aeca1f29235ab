#pragma once
#include "validator/executor/layers/linear.h"
#include "validator/executor/layers/norm.h"
#include "validator/executor/parallel/data.h"

namespace hexaplan::validator {

/// Final norm, output layer and cross-entropy over the vocabulary that tensor-parallel ranks share
/// (arXiv:1909.08053 §3). Logits are large, so that backward follows at once and overwrites them with their
/// gradient. `words` holds the output layer's matrix under the name `matrix`. Adds factor·Σ −log p(target)
/// of the micro-batch to `loss` (1×1); returns the gradient of x, this rank's tokens.
[[nodiscard]] Tensor head_forward_backward(Rank& rank, const Unit& unit, const Unit& words,
                                           std::string_view matrix, Tensor x, const View& targets,
                                           double factor, const View& loss);

}  // namespace hexaplan::validator
