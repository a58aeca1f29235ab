#pragma once
#include <string_view>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

// Tensor parallelism (arXiv:1909.08053 §3), with or without sequence parallelism (arXiv:2205.05198 §4.2.2).
// `x` is what a rank holds of the residual stream: all N tokens, or N/tp of them under sequence parallelism.

/// x as a column-parallel layer reads it: all tokens. Gathers under sequence parallelism.
[[nodiscard]] MaybeOwned enter_tensor_parallel(const Rank& rank, std::string_view operation,
                                               costmodel::Pass pass, const View& x);
/// Sum over the group of what a row-parallel layer (or the backward of a column-parallel one) made of all
/// tokens: this rank's tokens of it, under `label`.
[[nodiscard]] Tensor leave_tensor_parallel(const Rank& rank, std::string_view operation, costmodel::Pass pass,
                                           Tensor partial, const TensorLabel& label);
/// What leave_tensor_parallel is given: N × h, already under `label` when nothing else will be made of it.
[[nodiscard]] Tensor partial_output(const Rank& rank, const TensorLabel& label);

// Sequence parallelism: parallel/sequence.cpp.

/// Rows of all ranks of the tensor-parallel group, in rank order.
[[nodiscard]] Tensor gather_sequence(const Rank& rank, const View& x, const Call& call);
/// This rank's rows of the sum.
void scatter_sequence(const Rank& rank, const View& partial, const View& out, const Call& call);

}  // namespace hexaplan::validator
