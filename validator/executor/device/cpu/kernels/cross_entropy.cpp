#include "validator/executor/device/cpu/kernels/cross_entropy.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "validator/executor/device/cpu/kernels/exponentials.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {
namespace {

template <class T>
using Logits = Eigen::Map<const Eigen::Array<T, 1, Eigen::Dynamic>>;

}  // namespace

template <class T>
void row_max(Input<T> logits, std::int64_t valid, T* maxima) {
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    const Logits<T> row{logits.row(t), valid};
    maxima[t] = valid > 0 ? row.maxCoeff() : -std::numeric_limits<T>::infinity();
  }
}

template <class T>
void cross_entropy_sums(Input<T> logits, std::int64_t valid, const T* maxima, const std::int32_t* targets,
                        std::int64_t first, Matrix<T> sums) {
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    const T* row = logits.row(t);
    const T exponentials = valid > 0 ? (Logits<T>{row, valid} - maxima[t]).exp().sum() : T{0};
    const std::int64_t target = targets[t] - first;
    sums.row(t)[0] = exponentials;
    sums.row(t)[1] = target >= 0 && target < valid ? row[target] - maxima[t] : T{0};
  }
}

template <class T>
T cross_entropy_gradient(Input<T> logits, std::int64_t valid, const T* maxima, Input<T> sums,
                         const std::int32_t* targets, std::int64_t first, T factor, Matrix<T> d_logits) {
  T loss = 0;
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    const T* row = logits.row(t);
    T* out = d_logits.row(t);
    if (targets[t] < 0) {
      std::fill_n(out, d_logits.cols, T{0});
      continue;
    }
    const T denominator = sums.row(t)[0];
    loss += std::log(denominator) - sums.row(t)[1];
    Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>> probabilities{out, valid};
    exponentials_of(Logits<T>{row, valid}, maxima[t], probabilities);
    probabilities = factor * probabilities / denominator;
    std::fill(out + valid, out + d_logits.cols, T{0});
    const std::int64_t target = targets[t] - first;
    if (target >= 0 && target < valid) out[target] -= factor;
  }
  return factor * loss;
}

template void row_max<double>(Input<double>, std::int64_t, double*);
template void row_max<float>(Input<float>, std::int64_t, float*);
template void cross_entropy_sums<double>(Input<double>, std::int64_t, const double*, const std::int32_t*,
                                         std::int64_t, Matrix<double>);
template void cross_entropy_sums<float>(Input<float>, std::int64_t, const float*, const std::int32_t*,
                                        std::int64_t, Matrix<float>);
template double cross_entropy_gradient<double>(Input<double>, std::int64_t, const double*, Input<double>,
                                               const std::int32_t*, std::int64_t, double, Matrix<double>);
template float cross_entropy_gradient<float>(Input<float>, std::int64_t, const float*, Input<float>,
                                             const std::int32_t*, std::int64_t, float, Matrix<float>);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
