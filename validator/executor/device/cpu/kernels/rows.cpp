#include "validator/executor/device/cpu/kernels/rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace hexaplan::validator::kernels {

template <class T>
void gather_rows(Input<T> x, const std::int32_t* rows, Matrix<T> out) {
  for (std::int64_t i = 0; i < out.rows; ++i) {
    if (rows[i] >= 0) {
      std::copy_n(x.row(rows[i]), out.cols, out.row(i));
    } else {
      std::fill_n(out.row(i), out.cols, T{0});
    }
  }
}

template <class T>
void scatter_rows(Input<T> x, const std::int32_t* rows, const T* factors, Matrix<T> out) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    if (rows[i] < 0) continue;
    const T factor = factors != nullptr ? factors[i] : T{1};
    for (std::int64_t c = 0; c < x.cols; ++c) out.row(rows[i])[c] += factor * x.row(i)[c];
  }
}

template <class T>
void row_dots(Input<T> a, Input<T> b, T* dots) {
  for (std::int64_t i = 0; i < a.rows; ++i)
    dots[i] = std::inner_product(a.row(i), a.row(i) + a.cols, b.row(i), T{0});
}

template <class T>
void column_sums(Input<T> x, T* sums) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t c = 0; c < x.cols; ++c) sums[c] += x.row(i)[c];
  }
}

template <class T>
void scale_rows(Matrix<T> x, const T* factors) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t c = 0; c < x.cols; ++c) x.row(i)[c] *= factors[i];
  }
}

template <class T>
void scale_columns(Matrix<T> x, const T* factors) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t c = 0; c < x.cols; ++c) x.row(i)[c] *= factors[c];
  }
}

template <class T>
void column_dots(Input<T> a, Input<T> b, T* sums) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t c = 0; c < a.cols; ++c) sums[c] += a.row(i)[c] * b.row(i)[c];
  }
}

template <class T>
void gate_rows(const T* gates, Input<T> x, Matrix<T> out) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const T open = 1 / (1 + std::exp(-gates[i]));
    for (std::int64_t c = 0; c < x.cols; ++c) out.row(i)[c] = open * x.row(i)[c];
  }
}

template <class T>
void gate_rows_backward(Input<T> d_out, const T* gates, Input<T> x, Matrix<T> dx, T* d_gates) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const T open = 1 / (1 + std::exp(-gates[i]));
    d_gates[i] = open * (1 - open) * std::inner_product(d_out.row(i), d_out.row(i) + x.cols, x.row(i), T{0});
    for (std::int64_t c = 0; c < x.cols; ++c) dx.row(i)[c] = open * d_out.row(i)[c];
  }
}

template <class T>
void repeat_rows(Input<T> x, Matrix<T> out) {
  if (x.rows == 0) return;
  const std::int64_t times = out.rows / x.rows;
  for (std::int64_t i = 0; i < out.rows; ++i) std::copy_n(x.row(i / times), x.cols, out.row(i));
}

template <class T>
void add_repeated_rows(Input<T> x, Matrix<T> out) {
  if (out.rows == 0) return;
  const std::int64_t times = x.rows / out.rows;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t c = 0; c < x.cols; ++c) out.row(i / times)[c] += x.row(i)[c];
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                      \
  template void gather_rows<T>(Input<T>, const std::int32_t*, Matrix<T>);            \
  template void scatter_rows<T>(Input<T>, const std::int32_t*, const T*, Matrix<T>); \
  template void row_dots<T>(Input<T>, Input<T>, T*);                                 \
  template void column_sums<T>(Input<T>, T*);                                        \
  template void scale_rows<T>(Matrix<T>, const T*);                                  \
  template void scale_columns<T>(Matrix<T>, const T*);                               \
  template void column_dots<T>(Input<T>, Input<T>, T*);                              \
  template void gate_rows<T>(const T*, Input<T>, Matrix<T>);                         \
  template void gate_rows_backward<T>(Input<T>, const T*, Input<T>, Matrix<T>, T*);  \
  template void repeat_rows<T>(Input<T>, Matrix<T>);                                 \
  template void add_repeated_rows<T>(Input<T>, Matrix<T>)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE
template void gather_rows<std::uint16_t>(Input<std::uint16_t>, const std::int32_t*, Matrix<std::uint16_t>);
template void repeat_rows<std::uint16_t>(Input<std::uint16_t>, Matrix<std::uint16_t>);

}  // namespace hexaplan::validator::kernels
