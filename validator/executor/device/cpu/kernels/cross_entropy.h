#pragma once
#include "validator/executor/device/cpu/kernels/kernel_set.h"
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

// Cross-entropy over a vocabulary cut over ranks: this one has the columns [first, first + valid) of all, and
// padding behind them. Between the three steps maxima are reduced by maximum and sums by addition over the
// ranks (NVIDIA/Megatron-LM megatron/core/tensor_parallel/cross_entropy.py).

/// maxima[t] = max over the first `valid` columns; −∞ where there are none.
template <class T>
void row_max(Input<T> logits, std::int64_t valid, T* maxima);

/// sums[t] = {Σ exp(logits − maxima[t]) over valid columns, logit of the target − maxima[t] or 0 where
/// another rank has it}. sums: tokens × 2.
template <class T>
void cross_entropy_sums(Input<T> logits, std::int64_t valid, const T* maxima, const std::int32_t* targets,
                        std::int64_t first, Matrix<T> sums);

/// d_logits = factor·(softmax − onehot(target)), 0 in padding; may overwrite logits. Returns
/// factor·Σₜ(log sums[t][0] − sums[t][1]). A target below zero is none: its row is 0 and adds nothing.
template <class T>
T cross_entropy_gradient(Input<T> logits, std::int64_t valid, const T* maxima, Input<T> sums,
                         const std::int32_t* targets, std::int64_t first, T factor, Matrix<T> d_logits);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
