#pragma once
#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// What the layers keep stands under one of these kinds: saved until backward, or made again inside it.
struct Keeping {
  costmodel::TensorKind kind = costmodel::TensorKind::Activation;
  costmodel::DType activation = costmodel::DType::Bf16;
  [[nodiscard]] TensorLabel label(std::string_view name) const { return {name, kind, activation}; }
  [[nodiscard]] TensorLabel fp32(std::string_view name) const { return {name, kind, costmodel::DType::Fp32}; }
};

struct Normed {
  Tensor output, stats;
};
/// RMSNorm (arXiv:1910.07467) of x: tokens × h.
[[nodiscard]] Normed norm_forward(const Rank& rank, const View& x, const View& weight, const Keeping& keep);
/// d, the gradient of what x is added to, gains the gradient through the norm: d += ∂/∂x.
void norm_backward(const Rank& rank, const View& dy, const View& x, const View& weight, const View& stats,
                   const View& d, const View& d_weight);

}  // namespace hexaplan::validator
