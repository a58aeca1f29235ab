#pragma once
#include "costmodel/program/names.h"
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {

/// to += other.
template <class T>
void add(Matrix<T> to, Input<T> other);
/// x *= factor.
template <class T>
void scale(Matrix<T> x, T factor);
/// Every row += bias.
template <class T>
void add_bias(Matrix<T> x, const T* bias);
/// x = cap·tanh(x/cap).
template <class T>
void soft_cap(Matrix<T> x, T cap);
/// d *= 1 − (y/cap)².
template <class T>
void soft_cap_backward(Input<T> y, T cap, Matrix<T> d);
/// x cut to ±limit.
template <class T>
void clip(Matrix<T> x, T limit);
/// d = 0 where |x| > limit.
template <class T>
void clip_backward(Input<T> x, T limit, Matrix<T> d);
/// out = f(a, b); b may be empty.
template <class T>
void pointwise(costmodel::program::Function f, Input<T> a, Input<T> b, Matrix<T> out);
/// da = d_out·∂f/∂a, db = d_out·∂f/∂b, where they are wanted: db may be empty.
template <class T>
void pointwise_backward(costmodel::program::Function f, Input<T> d_out, Input<T> a, Input<T> b, Matrix<T> da,
                        Matrix<T> db);

}  // namespace hexaplan::validator::kernels
