#pragma once
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {

/// y = x · rstd · w per row, rstd = 1/√(mean(x²) + ε).  [arXiv:1910.07467 eq. 4]
/// x, y: tokens × h (may be the same); w: h; rstd: tokens.
template <class T>
void rms_norm_forward(Input<T> x, const T* weight, T epsilon, Matrix<T> y, T* rstd);

/// Adds to dx the gradient through x and through rstd:  rstd·(dy·w − x̂·mean(dy·w·x̂)), x̂ = x·rstd,
/// and to dw Σ over tokens of dy·x̂. `weight_gradient` may be null: not wanted.
template <class T>
void rms_norm_backward(Input<T> dy, Input<T> x, const T* weight, const T* rstd, Matrix<T> dx,
                       T* weight_gradient);

}  // namespace hexaplan::validator::kernels
