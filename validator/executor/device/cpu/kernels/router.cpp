#include "validator/executor/device/cpu/kernels/router.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace hexaplan::validator::kernels {
namespace {

template <class T>
void score_experts(costmodel::RouterScore kind, const T* in, std::int64_t n, T* out) {
  if (kind == costmodel::RouterScore::Sigmoid) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = 1 / (1 + std::exp(-in[i]));
    return;
  }
  const T largest = *std::max_element(in, in + n);
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::exp(in[i] - largest);
  const T sum = std::accumulate(out, out + n, T{0});
  for (std::int64_t i = 0; i < n; ++i) out[i] /= sum;
}

/// Places of the values, the largest first, the first of equals before the others.
template <class T>
void sort_places(const std::vector<T>& values, std::vector<std::int32_t>& places) {
  places.resize(values.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::int32_t a, std::int32_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
}

/// Memory of one token's choice, used again for the next.
template <class T>
struct Choice {
  std::vector<T> ranks, group_scores, sorted;
  std::vector<std::int32_t> order, group_order;
};

/// Experts of groups that are not taken rank last.
template <class T>
void drop_groups(const RouterForm& form, Choice<T>& c) {
  const auto groups = static_cast<std::size_t>(form.groups), size = c.ranks.size() / groups;
  const auto best = std::min(static_cast<std::size_t>(form.best_of_group), size);
  c.group_scores.resize(groups);
  c.sorted.resize(best);
  const auto begin_of = [&](std::size_t g) {
    return c.ranks.begin() + static_cast<std::ptrdiff_t>(g * size);
  };
  for (std::size_t g = 0; g < groups; ++g) {
    std::partial_sort_copy(begin_of(g), begin_of(g + 1), c.sorted.begin(), c.sorted.end(), std::greater<>{});
    c.group_scores[g] = std::accumulate(c.sorted.begin(), c.sorted.end(), T{0});
  }
  sort_places(c.group_scores, c.group_order);
  for (std::size_t i = static_cast<std::size_t>(form.top_groups); i < groups; ++i) {
    const auto g = static_cast<std::size_t>(c.group_order[i]);
    std::fill(begin_of(g), begin_of(g + 1), -std::numeric_limits<T>::infinity());
  }
}

template <class T>
void choose(const RouterForm& form, const T* scores, std::int64_t experts, const T* correction,
            std::int64_t k, std::int32_t* chosen, Choice<T>& c) {
  c.ranks.assign(scores, scores + experts);
  for (std::int64_t e = 0; correction != nullptr && e < experts; ++e)
    c.ranks[static_cast<std::size_t>(e)] += correction[e];
  if (form.top_groups < form.groups) drop_groups(form, c);
  sort_places(c.ranks, c.order);
  std::copy_n(c.order.begin(), k, chosen);
}

/// What the chosen scores are divided by.
template <class T>
T divisor(const RouterForm& form, const T* scores, const std::int32_t* chosen, std::int64_t k) {
  if (!form.renormalise) return 1;
  T sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += scores[chosen[i]];
  return sum + static_cast<T>(form.epsilon);
}

}  // namespace

template <class T>
void route(const RouterForm& form, Input<T> logits, const T* correction, Matrix<T> scores,
           Matrix<std::int32_t> chosen, Matrix<T> weights) {
  Choice<T> choice;
  const auto factor = static_cast<T>(form.factor);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    T* s = scores.row(t);
    std::int32_t* ids = chosen.row(t);
    score_experts(form.score, logits.row(t), logits.cols, s);
    if (!form.given) choose(form, s, logits.cols, correction, chosen.cols, ids, choice);
    const T by = divisor(form, s, ids, chosen.cols);
    for (std::int64_t i = 0; i < chosen.cols; ++i) weights.row(t)[i] = factor * s[ids[i]] / by;
  }
}

template <class T>
void route_backward(const RouterForm& form, Input<T> scores, Input<std::int32_t> chosen, Input<T> weights,
                    Input<T> d_weights, const T* d_mean, Matrix<T> d_logits) {
  const std::int64_t experts = scores.cols, k = chosen.cols;
  const auto factor = static_cast<T>(form.factor);
  const bool softmax = form.score == costmodel::RouterScore::Softmax;
  // A softmax does not see what all experts share; what is left of evenly filled ones is exactly nothing.
  const T base = softmax && d_mean ? d_mean[0] : T{0};
  std::vector<T> ds(static_cast<std::size_t>(experts));
  for (std::int64_t t = 0; t < scores.rows; ++t) {
    const T *s = scores.row(t), *w = weights.row(t), *dw = d_weights.row(t);
    const std::int32_t* ids = chosen.row(t);
    for (std::int64_t e = 0; e < experts; ++e)
      ds[static_cast<std::size_t>(e)] = d_mean ? d_mean[e] - base : T{0};
    // w_i = f·s_i/D, D = Σ_j s_j + ε over the chosen: ds_i = (f·dw_i − Σ_j dw_j·w_j)/D.
    const T by = divisor(form, s, ids, k);
    const T mean = form.renormalise ? std::inner_product(w, w + k, dw, T{0}) : T{0};
    for (std::int64_t i = 0; i < k; ++i) ds[static_cast<std::size_t>(ids[i])] += (factor * dw[i] - mean) / by;
    const T projection = softmax ? std::inner_product(s, s + experts, ds.begin(), T{0}) : T{0};
    for (std::int64_t e = 0; e < experts; ++e) {
      const T gradient = ds[static_cast<std::size_t>(e)];
      d_logits.row(t)[e] = s[e] * (softmax ? gradient - projection : gradient * (1 - s[e]));
    }
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                                              \
  template void route<T>(const RouterForm&, Input<T>, const T*, Matrix<T>, Matrix<std::int32_t>, Matrix<T>); \
  template void route_backward<T>(const RouterForm&, Input<T>, Input<std::int32_t>, Input<T>, Input<T>,      \
                                  const T*, Matrix<T>)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace hexaplan::validator::kernels
