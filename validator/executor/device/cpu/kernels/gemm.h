#pragma once
#include "validator/executor/device/cpu/kernels/kernel_set.h"
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// c = op(a)·op(b), or c += with `accumulate`; op transposes.
template <class T>
void gemm(Input<T> a, bool transpose_a, Input<T> b, bool transpose_b, bool accumulate, Matrix<T> c);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
