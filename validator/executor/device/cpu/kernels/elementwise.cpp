#include "validator/executor/device/cpu/kernels/elementwise.h"

#include <algorithm>
#include <cmath>

#include "validator/executor/device/element_functions.h"

namespace hexaplan::validator::kernels {
namespace {

/// to[c] = of(to[c], from[c]), row by row.
template <class T, class Function>
void combine(Matrix<T> to, Input<T> from, const Function& of) {
  assert(to.rows == from.rows && to.cols == from.cols);
  for (std::int64_t r = 0; r < to.rows; ++r)
    std::transform(to.row(r), to.row(r) + to.cols, from.row(r), to.row(r), of);
}
template <class T, class Function>
void change(Matrix<T> x, const Function& to) {
  for (std::int64_t r = 0; r < x.rows; ++r) std::transform(x.row(r), x.row(r) + x.cols, x.row(r), to);
}

}  // namespace

template <class T>
void add(Matrix<T> to, Input<T> other) {
  combine(to, other, [](T sum, T addend) { return sum + addend; });
}

template <class T>
void scale(Matrix<T> x, T factor) {
  change(x, [factor](T value) { return value * factor; });
}

template <class T>
void add_bias(Matrix<T> x, const T* bias) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < x.cols; ++c) x.row(r)[c] += bias[c];
  }
}

template <class T>
void soft_cap(Matrix<T> x, T cap) {
  change(x, [cap](T value) { return cap * std::tanh(value / cap); });
}

template <class T>
void soft_cap_backward(Input<T> y, T cap, Matrix<T> d) {
  combine(d, y, [cap](T gradient, T value) { return gradient * (1 - value / cap * (value / cap)); });
}

template <class T>
void clip(Matrix<T> x, T limit) {
  change(x, [limit](T value) { return std::clamp(value, -limit, limit); });
}

template <class T>
void clip_backward(Input<T> x, T limit, Matrix<T> d) {
  combine(d, x, [limit](T gradient, T value) { return std::abs(value) <= limit ? gradient : T{0}; });
}

template <class T>
void pointwise(costmodel::program::Function f, Input<T> a, Input<T> b, Matrix<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c)
      out.row(r)[c] = point_of(f, a.row(r)[c], b.data != nullptr ? b.row(r)[c] : T{0}).value;
  }
}

template <class T>
void pointwise_backward(costmodel::program::Function f, Input<T> d_out, Input<T> a, Input<T> b, Matrix<T> da,
                        Matrix<T> db) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.cols; ++c) {
      const T d = d_out.row(r)[c];
      const ValueAndSlopes<T> at = point_of(f, a.row(r)[c], b.data != nullptr ? b.row(r)[c] : T{0});
      da.row(r)[c] = d * at.in_a;
      if (db.data != nullptr) db.row(r)[c] = d * at.in_b;
    }
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                                              \
  template void add<T>(Matrix<T>, Input<T>);                                                                 \
  template void scale<T>(Matrix<T>, T);                                                                      \
  template void add_bias<T>(Matrix<T>, const T*);                                                            \
  template void soft_cap<T>(Matrix<T>, T);                                                                   \
  template void soft_cap_backward<T>(Input<T>, T, Matrix<T>);                                                \
  template void clip<T>(Matrix<T>, T);                                                                       \
  template void clip_backward<T>(Input<T>, T, Matrix<T>);                                                    \
  template void pointwise<T>(costmodel::program::Function, Input<T>, Input<T>, Matrix<T>);                   \
  template void pointwise_backward<T>(costmodel::program::Function, Input<T>, Input<T>, Input<T>, Matrix<T>, \
                                      Matrix<T>)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace hexaplan::validator::kernels
