#pragma once
#include <cstdint>

namespace hexaplan::validator::kernels {

/// One step of a run of parameters.
struct AdamWFactors {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0;
  double gradient_factor = 1;
  std::int64_t step = 1;  // counts from 1
};

/// m = β₁m + (1−β₁)g, v = β₂v + (1−β₂)g², g = gradient·factor;
/// w −= lr·(m̂/(√v̂ + ε) + λ·w), m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ).  [arXiv:1711.05101 algorithm 2; as
/// torch.optim.AdamW, whose decay is lr·λ·w as well]
template <class T>
void adamw(const AdamWFactors& factors, const T* gradient, std::int64_t count, T* first_moment,
           T* second_moment, T* master);

}  // namespace hexaplan::validator::kernels
