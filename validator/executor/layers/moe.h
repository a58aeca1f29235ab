#pragma once
#include "validator/executor/layers/linear.h"
#include "validator/executor/layers/mlp.h"
#include "validator/executor/layers/norm.h"
#include "validator/executor/layers/router.h"
#include "validator/executor/parallel/data.h"
#include "validator/executor/parallel/expert.h"

namespace hexaplan::validator {

struct MoeSaved {
  Routed routed;
  ExpertExchange exchange;                                 // on the host
  Tensor expert_input, expert_gate_up, expert_activation;  // rows of this rank's experts
  Tensor expert_output;                                    // back at home: n·K × h, before weighting
  MlpSaved shared;
};

/// Experts chosen by a router (arXiv:2405.04434 §2.1.2): a token's output is Σ over its K most probable
/// experts of probability·SwiGLU, plus the shared experts, which see every token. Up to what backward needs.
/// n: tokens of the rank's residual stream.
void moe_forward_to_output(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep,
                           MoeSaved& saved);
/// The weighted sum: this rank's tokens, under `result`.
[[nodiscard]] Tensor moe_forward_from_output(const Rank& rank, const Unit& unit, const MoeSaved& saved,
                                             const TensorLabel& result);
/// Gradient of the normed tokens, given d, that of the output. Takes what was saved.
[[nodiscard]] Tensor moe_backward(Rank& rank, const Unit& unit, Tensor normed, MoeSaved saved, const View& d,
                                  WeightGradients& weights);

}  // namespace hexaplan::validator
