#pragma once
#include "validator/executor/device/cpu/kernels/activation.h"
#include "validator/executor/device/cpu/kernels/attention.h"
#include "validator/executor/device/cpu/kernels/convert.h"
#include "validator/executor/device/cpu/kernels/cross_entropy.h"
#include "validator/executor/device/cpu/kernels/gemm.h"
#include "validator/executor/device/cpu/kernels/kernel_set.h"
#include "validator/executor/device/cpu/kernels/optimizer.h"
#include "validator/executor/device/cpu/kernels/squares.h"

namespace hexaplan::validator::kernels {

/// Of one instruction set: the kernels that a step spends its time in.
template <class T>
struct KernelTable {
  decltype(&kernels::gemm<T>) gemm;
  decltype(&kernels::attention_forward<T>) attention_forward;
  decltype(&kernels::attention_backward<T>) attention_backward;
  decltype(&kernels::attention_merge<T>) attention_merge;
  decltype(&kernels::attention_delta<T>) attention_delta;
  decltype(&kernels::sink_gradient<T>) sink_gradient;
  decltype(&kernels::score_softmax<T>) score_softmax;
  decltype(&kernels::score_softmax_backward<T>) score_softmax_backward;
  decltype(&kernels::row_max<T>) row_max;
  decltype(&kernels::cross_entropy_sums<T>) cross_entropy_sums;
  decltype(&kernels::cross_entropy_gradient<T>) cross_entropy_gradient;
  decltype(&kernels::activation_forward<T>) activation_forward;
  decltype(&kernels::activation_backward<T>) activation_backward;
  decltype(&kernels::sum_of_squares<T>) sum_of_squares;
  decltype(&kernels::update<T>) update;
  decltype(&kernels::update_8bit<T>) update_8bit;
  decltype(&kernels::widen) widen;
  decltype(&kernels::narrow) narrow;
};

inline namespace HEXAPLAN_KERNEL_SET {
/// Of the set that this is compiled for.
template <class T>
[[nodiscard]] KernelTable<T> kernel_table();
}  // namespace HEXAPLAN_KERNEL_SET

}  // namespace hexaplan::validator::kernels
