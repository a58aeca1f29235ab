#include "validator/executor/device/cpu/kernels/router.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace hexaplan::validator::kernels {
namespace {

template <class T>
void softmax(const T* in, std::int64_t n, T* out) {
  const T largest = *std::max_element(in, in + n);
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::exp(in[i] - largest);
  const T sum = std::accumulate(out, out + n, T{0});
  for (std::int64_t i = 0; i < n; ++i) out[i] /= sum;
}

/// All experts, the most probable first, the first of equals before the others.
template <class T>
void sort_experts(const T* probabilities, std::vector<std::int32_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [probabilities](std::int32_t a, std::int32_t b) {
    return probabilities[a] > probabilities[b];
  });
}

/// Σ of the chosen probabilities, which divides the weights.
template <class T>
T chosen_sum(const T* probabilities, const std::int32_t* chosen, std::int64_t k) {
  T sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += probabilities[chosen[i]];
  return sum;
}

}  // namespace

template <class T>
void route(Input<T> logits, bool given, bool renormalise, Matrix<T> probabilities,
           Matrix<std::int32_t> chosen, Matrix<T> weights) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(logits.cols));
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    T* p = probabilities.row(t);
    softmax(logits.row(t), logits.cols, p);
    if (!given) {
      sort_experts(p, order);
      std::copy_n(order.begin(), chosen.cols, chosen.row(t));
    }
    const T divisor = renormalise ? chosen_sum(p, chosen.row(t), chosen.cols) : T{1};
    for (std::int64_t i = 0; i < chosen.cols; ++i) weights.row(t)[i] = p[chosen.row(t)[i]] / divisor;
  }
}

template <class T>
void route_backward(Input<T> probabilities, Input<std::int32_t> chosen, Input<T> weights, bool renormalise,
                    Input<T> d_weights, const T* d_mean, Matrix<T> d_logits) {
  const std::int64_t experts = probabilities.cols, k = chosen.cols;
  std::vector<T> dp(static_cast<std::size_t>(experts));
  for (std::int64_t t = 0; t < probabilities.rows; ++t) {
    const T *p = probabilities.row(t), *w = weights.row(t), *dw = d_weights.row(t);
    const std::int32_t* ids = chosen.row(t);
    for (std::int64_t e = 0; e < experts; ++e) dp[static_cast<std::size_t>(e)] = d_mean ? d_mean[e] : T{0};
    // w_i = p_i / Σ_j p_j over the chosen: dp_i = (dw_i − Σ_j dw_j·w_j) / Σ_j p_j.
    const T divisor = renormalise ? chosen_sum(p, ids, k) : T{1};
    const T mean = renormalise ? std::inner_product(w, w + k, dw, T{0}) : T{0};
    for (std::int64_t i = 0; i < k; ++i) dp[static_cast<std::size_t>(ids[i])] += (dw[i] - mean) / divisor;
    const T projection = std::inner_product(p, p + experts, dp.begin(), T{0});
    for (std::int64_t e = 0; e < experts; ++e)
      d_logits.row(t)[e] = p[e] * (dp[static_cast<std::size_t>(e)] - projection);
  }
}

template void route<double>(Input<double>, bool, bool, Matrix<double>, Matrix<std::int32_t>, Matrix<double>);
template void route<float>(Input<float>, bool, bool, Matrix<float>, Matrix<std::int32_t>, Matrix<float>);
template void route_backward<double>(Input<double>, Input<std::int32_t>, Input<double>, bool, Input<double>,
                                     const double*, Matrix<double>);
template void route_backward<float>(Input<float>, Input<std::int32_t>, Input<float>, bool, Input<float>,
                                    const float*, Matrix<float>);

}  // namespace hexaplan::validator::kernels
