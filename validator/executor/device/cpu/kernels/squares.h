#pragma once
#include "validator/executor/device/cpu/kernels/kernel_set.h"
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// Σ x², in float64: the norm of many float32 gradients must not depend on how they are cut.
template <class T>
double sum_of_squares(Input<T> x);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
