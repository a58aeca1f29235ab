#pragma once
#include "validator/executor/layers/mlp.h"
#include "validator/executor/layers/moe.h"

namespace hexaplan::validator {

/// The second half of a layer, by its class: one MLP, or experts.
struct FeedForwardSaved {
  MlpSaved mlp;
  MoeSaved moe;
};

/// Up to what backward needs, of normed tokens.
void feed_forward_to_saved(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep,
                           FeedForwardSaved& saved);
/// The rest: this rank's tokens of the output, under `result`.
[[nodiscard]] Tensor feed_forward_from_saved(const Rank& rank, const Unit& unit,
                                             const FeedForwardSaved& saved, const TensorLabel& result);
/// Gradient of the normed tokens, given d, that of the output. Takes what was saved.
[[nodiscard]] Tensor feed_forward_backward(Rank& rank, const Unit& unit, Tensor normed,
                                           FeedForwardSaved saved, const View& d, WeightGradients& weights);

}  // namespace hexaplan::validator
