#pragma once
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {

/// out = silu(gate) · up, silu(x) = x·σ(x).  [arXiv:2002.05202 eq. 6] All tokens × f.
template <class T>
void swiglu_forward(Input<T> gate, Input<T> up, Matrix<T> out);

/// dgate = dout·up·σ(gate)·(1 + gate·(1 − σ(gate))), dup = dout·silu(gate). Outputs may overwrite gate and
/// up.
template <class T>
void swiglu_backward(Input<T> dout, Input<T> gate, Input<T> up, Matrix<T> dgate, Matrix<T> dup);

}  // namespace hexaplan::validator::kernels
