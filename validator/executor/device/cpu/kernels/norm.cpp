#include "validator/executor/device/cpu/kernels/norm.h"

#include <cmath>

namespace hexaplan::validator::kernels {

template <class T>
void rms_norm_forward(Input<T> x, const T* weight, T epsilon, Matrix<T> y, T* rstd) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    T squares = 0;
    for (std::int64_t c = 0; c < x.cols; ++c) squares += in[c] * in[c];
    rstd[r] = 1 / std::sqrt(squares / static_cast<T>(x.cols) + epsilon);
    T* out = y.row(r);
    for (std::int64_t c = 0; c < x.cols; ++c) out[c] = in[c] * rstd[r] * weight[c];
  }
}

template <class T>
void rms_norm_backward(Input<T> dy, Input<T> x, const T* weight, const T* rstd, Matrix<T> dx,
                       T* weight_gradient) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    const T* grad = dy.row(r);
    T* out = dx.row(r);
    T projection = 0;
    for (std::int64_t c = 0; c < x.cols; ++c) projection += grad[c] * weight[c] * in[c] * rstd[r];
    projection /= static_cast<T>(x.cols);
    for (std::int64_t c = 0; c < x.cols; ++c) {
      const T normalised = in[c] * rstd[r];
      if (weight_gradient != nullptr) weight_gradient[c] += grad[c] * normalised;
      out[c] += rstd[r] * (grad[c] * weight[c] - normalised * projection);
    }
  }
}

template void rms_norm_forward<double>(Input<double>, const double*, double, Matrix<double>, double*);
template void rms_norm_forward<float>(Input<float>, const float*, float, Matrix<float>, float*);
template void rms_norm_backward<double>(Input<double>, Input<double>, const double*, const double*,
                                        Matrix<double>, double*);
template void rms_norm_backward<float>(Input<float>, Input<float>, const float*, const float*, Matrix<float>,
                                       float*);

}  // namespace hexaplan::validator::kernels
