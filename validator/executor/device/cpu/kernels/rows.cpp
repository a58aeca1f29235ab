#include "validator/executor/device/cpu/kernels/rows.h"

#include <algorithm>
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

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                      \
  template void gather_rows<T>(Input<T>, const std::int32_t*, Matrix<T>);            \
  template void scatter_rows<T>(Input<T>, const std::int32_t*, const T*, Matrix<T>); \
  template void row_dots<T>(Input<T>, Input<T>, T*);                                 \
  template void column_sums<T>(Input<T>, T*);                                        \
  template void scale_rows<T>(Matrix<T>, const T*)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace hexaplan::validator::kernels
