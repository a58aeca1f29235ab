#pragma once
#include "validator/executor/device/cpu/kernels/kernel_set.h"
#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// act = f(x), or f(gate)·up with gate in the first half of x's columns (arXiv:2002.05202 eq. 6). act: tokens
/// × f.
template <class T>
void activation_forward(const ActivationForm& form, Input<T> x, Matrix<T> act);

/// dx, shaped like x, which it may overwrite.
template <class T>
void activation_backward(const ActivationForm& form, Input<T> d_act, Input<T> x, Matrix<T> dx);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
