#pragma once
#include "validator/executor/layers/attention.h"
#include "validator/executor/layers/feed_forward.h"
#include "validator/executor/layers/norm.h"

namespace hexaplan::validator {

/// What a layer keeps of one micro-batch. Under full recomputation only `input`.
struct LayerSaved {
  Tensor input;  // residual stream: this rank's tokens × h
  Normed norm1;
  AttentionSaved attention;
  Tensor middle;  // residual stream after attention
  Normed norm2;
  FeedForwardSaved feed_forward;
};

/// x + attention(norm(x)), then y + feed_forward(norm(y)). `recomputed`: only the input is kept. The output
/// is a transient of the running pass until somebody keeps it.
[[nodiscard]] Tensor layer_forward(Rank& rank, const Unit& unit, Tensor input, const View& positions,
                                   bool recomputed, LayerSaved& saved);
/// d, the gradient of the output, becomes that of the input. Takes what was saved, runs the forward pass
/// again where only the input was.
void layer_backward(Rank& rank, const Unit& unit, LayerSaved saved, const View& positions, const View& d,
                    WeightGradients& weights);

}  // namespace hexaplan::validator
