#include "validator/executor/device/cpu/kernels/kernel_table.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

template <class T>
KernelTable<T> kernel_table() {
  return {.gemm = &gemm<T>,
          .attention_forward = &attention_forward<T>,
          .attention_backward = &attention_backward<T>,
          .attention_merge = &attention_merge<T>,
          .attention_delta = &attention_delta<T>,
          .sink_gradient = &sink_gradient<T>,
          .score_softmax = &score_softmax<T>,
          .score_softmax_backward = &score_softmax_backward<T>,
          .row_max = &row_max<T>,
          .cross_entropy_sums = &cross_entropy_sums<T>,
          .cross_entropy_gradient = &cross_entropy_gradient<T>,
          .activation_forward = &activation_forward<T>,
          .activation_backward = &activation_backward<T>,
          .sum_of_squares = &sum_of_squares<T>,
          .update = &update<T>,
          .update_8bit = &update_8bit<T>,
          .widen = &widen,
          .narrow = &narrow};
}

template KernelTable<double> kernel_table<double>();
template KernelTable<float> kernel_table<float>();

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
