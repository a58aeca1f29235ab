#include "validator/executor/device/cpu/kernels/swiglu.h"

#include <cmath>

namespace hexaplan::validator::kernels {
namespace {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

template <class T>
void swiglu_forward(Input<T> gate, Input<T> up, Matrix<T> out) {
  for (std::int64_t r = 0; r < gate.rows; ++r) {
    const T *g = gate.row(r), *u = up.row(r);
    T* y = out.row(r);
    for (std::int64_t c = 0; c < gate.cols; ++c) y[c] = g[c] * sigmoid(g[c]) * u[c];
  }
}

template <class T>
void swiglu_backward(Input<T> dout, Input<T> gate, Input<T> up, Matrix<T> dgate, Matrix<T> dup) {
  for (std::int64_t r = 0; r < gate.rows; ++r) {
    const T *dy = dout.row(r), *g = gate.row(r), *u = up.row(r);
    T *dg = dgate.row(r), *du = dup.row(r);
    for (std::int64_t c = 0; c < gate.cols; ++c) {
      const T s = sigmoid(g[c]), x = g[c], y = u[c];
      dg[c] = dy[c] * y * s * (1 + x * (1 - s));
      du[c] = dy[c] * x * s;
    }
  }
}

template void swiglu_forward<double>(Input<double>, Input<double>, Matrix<double>);
template void swiglu_forward<float>(Input<float>, Input<float>, Matrix<float>);
template void swiglu_backward<double>(Input<double>, Input<double>, Input<double>, Matrix<double>,
                                      Matrix<double>);
template void swiglu_backward<float>(Input<float>, Input<float>, Input<float>, Matrix<float>, Matrix<float>);

}  // namespace hexaplan::validator::kernels
