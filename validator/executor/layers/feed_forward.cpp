#include "validator/executor/layers/feed_forward.h"

#include <utility>

namespace hexaplan::validator {
namespace {

bool has_experts(const Rank& rank) {
  return costmodel::class_of_layer(rank.scenario.model, rank.layer).moe;
}

}  // namespace

void feed_forward_to_saved(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep,
                           FeedForwardSaved& saved) {
  if (has_experts(rank)) return moe_forward_to_output(rank, unit, normed, keep, saved.moe);
  mlp_forward_to_activation(rank, kDenseMlp, unit, normed, keep, saved.mlp);
}

Tensor feed_forward_from_saved(const Rank& rank, const Unit& unit, const FeedForwardSaved& saved,
                               const TensorLabel& result) {
  if (has_experts(rank)) return moe_forward_from_output(rank, unit, saved.moe, result);
  return mlp_forward_from_activation(rank, kDenseMlp, unit, saved.mlp, result);
}

Tensor feed_forward_backward(Rank& rank, const Unit& unit, Tensor normed, FeedForwardSaved saved,
                             const View& d, WeightGradients& weights) {
  if (has_experts(rank)) return moe_backward(rank, unit, std::move(normed), std::move(saved.moe), d, weights);
  return mlp_backward(rank, kDenseMlp, unit, std::move(normed), std::move(saved.mlp), d, weights);
}

}  // namespace hexaplan::validator
