#pragma once
#include <cstdint>

#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::kernels {

/// y = x̂·weight + bias as NormForm says. x, y: tokens × h (may be the same); weight, bias: of one group's
/// width, may be null: 1 and 0; statistics: tokens × form.statistics(h).
template <class T>
void norm_forward(const NormForm& form, Input<T> x, const T* weight, const T* bias, Matrix<T> y,
                  Matrix<T> statistics);

/// The gradient of x is added to dx or replaces it; dx may be dy then.
template <class T>
void norm_backward(const NormForm& form, Input<T> dy, Input<T> x, const T* weight, Input<T> statistics,
                   Matrix<T> dx);

/// Columns [first, first + count) of a group: d_weight gains Σ dy·x̂ over rows and groups in this order,
/// d_bias Σ dy. Each may be null: not wanted.
template <class T>
void norm_weight_gradients(const NormForm& form, Input<T> dy, Input<T> x, Input<T> statistics,
                           std::int64_t first, std::int64_t count, T* d_weight, T* d_bias);

}  // namespace hexaplan::validator::kernels
