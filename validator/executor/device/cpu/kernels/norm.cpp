#include "validator/executor/device/cpu/kernels/norm.h"

#include <cmath>

namespace hexaplan::validator::kernels {
namespace {

/// What x̂ = (x − mean)·rstd takes.
template <class T>
struct Statistics {
  T mean = 0, rstd = 1;
};

template <class T>
Statistics<T> statistics_of(const NormForm& form, const T* x, std::int64_t width) {
  Statistics<T> out;
  const auto count = static_cast<T>(width);
  if (form.kind == costmodel::NormKind::Layer) {
    for (std::int64_t c = 0; c < width; ++c) out.mean += x[c];
    out.mean /= count;
  }
  T squares = 0;
  for (std::int64_t c = 0; c < width; ++c) squares += (x[c] - out.mean) * (x[c] - out.mean);
  out.rstd = 1 / std::sqrt(squares / count + static_cast<T>(form.epsilon));
  return out;
}

template <class T>
Statistics<T> read(const NormForm& form, const T* row, std::int64_t group) {
  if (form.kind == costmodel::NormKind::Layer) return {.mean = row[2 * group], .rstd = row[2 * group + 1]};
  return {.rstd = row[group]};
}
template <class T>
void write(const NormForm& form, const Statistics<T>& s, std::int64_t group, T* row) {
  if (form.kind == costmodel::NormKind::Layer) {
    row[2 * group] = s.mean;
    row[2 * group + 1] = s.rstd;
  } else {
    row[group] = s.rstd;
  }
}

/// What x̂ is multiplied by.
template <class T>
struct Factors {
  const T* weight;
  T offset;
  Factors(const NormForm& form, const T* of) : weight{of}, offset(form.zero_centered ? T{1} : T{0}) {}
  T operator[](std::int64_t c) const { return weight != nullptr ? offset + weight[c] : T{1}; }
};

/// One group of one row.
template <class T>
void backward_of_group(const NormForm& form, const Statistics<T>& s, const Factors<T>& factors,
                       std::int64_t width, const T* dy, const T* x, T* dx) {
  T projection = 0, mean = 0;
  for (std::int64_t c = 0; c < width; ++c) {
    const T g = dy[c] * factors[c];
    projection += g * (x[c] - s.mean) * s.rstd;
    mean += g;
  }
  projection /= static_cast<T>(width);
  mean = form.kind == costmodel::NormKind::Layer ? mean / static_cast<T>(width) : T{0};
  for (std::int64_t c = 0; c < width; ++c) {
    const T normalised = (x[c] - s.mean) * s.rstd, gradient = dy[c];
    dx[c] =
        (form.accumulate ? dx[c] : T{0}) + s.rstd * (gradient * factors[c] - mean - normalised * projection);
  }
}

template <class T>
void forward_of_group(const Statistics<T>& s, const Factors<T>& factors, std::int64_t width, const T* x,
                      const T* bias, T* y) {
  for (std::int64_t c = 0; c < width; ++c)
    y[c] = (x[c] - s.mean) * s.rstd * factors[c] + (bias != nullptr ? bias[c] : T{0});
}

}  // namespace

template <class T>
void norm_forward(const NormForm& form, Input<T> x, const T* weight, const T* bias, Matrix<T> y,
                  Matrix<T> statistics) {
  const std::int64_t groups = form.groups(x.cols), width = x.cols / groups;
  const Factors<T> factors{form, weight};
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const T* in = x.row(r) + g * width;
      const Statistics<T> s = statistics_of(form, in, width);
      write(form, s, g, statistics.row(r));
      forward_of_group(s, factors, width, in, bias, y.row(r) + g * width);
    }
  }
}

template <class T>
void norm_backward(const NormForm& form, Input<T> dy, Input<T> x, const T* weight, Input<T> statistics,
                   Matrix<T> dx) {
  const std::int64_t groups = form.groups(x.cols), width = x.cols / groups;
  const Factors<T> factors{form, weight};
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t first = g * width;
      backward_of_group(form, read(form, statistics.row(r), g), factors, width, dy.row(r) + first,
                        x.row(r) + first, dx.row(r) + first);
    }
  }
}

template <class T>
void norm_weight_gradients(const NormForm& form, Input<T> dy, Input<T> x, Input<T> statistics,
                           std::int64_t first, std::int64_t count, T* d_weight, T* d_bias) {
  const std::int64_t groups = form.groups(x.cols), width = x.cols / groups;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const Statistics<T> s = read(form, statistics.row(r), g);
      const T *gradient = dy.row(r) + g * width, *value = x.row(r) + g * width;
      for (std::int64_t c = first; d_weight != nullptr && c < first + count; ++c)
        d_weight[c] += gradient[c] * ((value[c] - s.mean) * s.rstd);
      for (std::int64_t c = first; d_bias != nullptr && c < first + count; ++c) d_bias[c] += gradient[c];
    }
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                                       \
  template void norm_forward<T>(const NormForm&, Input<T>, const T*, const T*, Matrix<T>, Matrix<T>); \
  template void norm_backward<T>(const NormForm&, Input<T>, Input<T>, const T*, Input<T>, Matrix<T>); \
  template void norm_weight_gradients<T>(const NormForm&, Input<T>, Input<T>, Input<T>, std::int64_t, \
                                         std::int64_t, T*, T*)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace hexaplan::validator::kernels
