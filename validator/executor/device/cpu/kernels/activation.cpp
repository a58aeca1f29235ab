#include "validator/executor/device/cpu/kernels/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace hexaplan::validator::kernels {
namespace {

/// A function and its slope at one place.
template <class T>
struct Value {
  T value, slope;
};

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// x·σ(steepness·x).
template <class T>
Value<T> sigmoid_unit(T x, T steepness) {
  const T s = sigmoid(steepness * x);
  return {x * s, s * (1 + steepness * x * (1 - s))};
}

struct Silu {
  template <class T>
  Value<T> operator()(T x) const {
    return sigmoid_unit(x, T{1});
  }
};
struct GeluQuick {
  template <class T>
  Value<T> operator()(T x) const {
    return sigmoid_unit(x, static_cast<T>(1.702));
  }
};
struct GeluExact {
  template <class T>
  Value<T> operator()(T x) const {
    constexpr T kRootOfHalf = std::numbers::sqrt2_v<T> / 2;
    const T cumulative = (1 + std::erf(x * kRootOfHalf)) / 2;
    const T density = std::numbers::inv_sqrtpi_v<T> * kRootOfHalf * std::exp(-x * x / 2);
    return {x * cumulative, cumulative + x * density};
  }
};
struct GeluTanh {
  template <class T>
  Value<T> operator()(T x) const {
    constexpr T kScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
    constexpr auto kCube = static_cast<T>(0.044715);
    const T t = std::tanh(kScale * (x + kCube * x * x * x));
    return {x * (1 + t) / 2, (1 + t + x * (1 - t * t) * kScale * (1 + 3 * kCube * x * x)) / 2};
  }
};
struct Relu {
  template <class T>
  Value<T> operator()(T x) const {
    return {std::max(x, T{0}), x > 0 ? T{1} : T{0}};
  }
};
struct ReluSquared {
  template <class T>
  Value<T> operator()(T x) const {
    const T positive = std::max(x, T{0});
    return {positive * positive, 2 * positive};
  }
};

template <class Visitor>
void with_function(ActivationKind kind, const Visitor& visit) {
  switch (kind) {
    case ActivationKind::Silu:
      return visit(Silu{});
    case ActivationKind::GeluExact:
      return visit(GeluExact{});
    case ActivationKind::GeluTanh:
      return visit(GeluTanh{});
    case ActivationKind::GeluQuick:
      return visit(GeluQuick{});
    case ActivationKind::Relu:
      return visit(Relu{});
    case ActivationKind::ReluSquared:
      return visit(ReluSquared{});
  }
}

/// What a clamp makes of the two halves.
template <class T>
struct Clamp {
  T limit, offset;  // of up
  explicit Clamp(double clamp)
      : limit(clamp > 0 ? static_cast<T>(clamp) : std::numeric_limits<T>::infinity()),
        offset(clamp > 0 ? T{1} : T{0}) {}
  [[nodiscard]] T gate(T g) const { return std::min(g, limit); }
  [[nodiscard]] T up(T u) const { return std::clamp(u, -limit, limit) + offset; }
};

// One row of `cols` results.

template <class Function, class T>
void forward_of_row(const Function& f, const ActivationForm& form, const Clamp<T>& clamp, std::int64_t cols,
                    const T* x, T* y) {
  if (!form.gated) {
    for (std::int64_t c = 0; c < cols; ++c) y[c] = f(x[c]).value;
    return;
  }
  for (std::int64_t c = 0; c < cols; ++c) y[c] = f(clamp.gate(x[c])).value * clamp.up(x[cols + c]);
}

template <class Function, class T>
void backward_of_row(const Function& f, const ActivationForm& form, const Clamp<T>& clamp, std::int64_t cols,
                     const T* dy, const T* x, T* dx) {
  if (!form.gated) {
    for (std::int64_t c = 0; c < cols; ++c) dx[c] = dy[c] * f(x[c]).slope;
    return;
  }
  for (std::int64_t c = 0; c < cols; ++c) {
    const T gate = x[c], up = x[cols + c];
    const Value<T> v = f(clamp.gate(gate));
    dx[c] = gate <= clamp.limit ? dy[c] * clamp.up(up) * v.slope : T{0};
    dx[cols + c] = std::abs(up) <= clamp.limit ? dy[c] * v.value : T{0};
  }
}

}  // namespace

template <class T>
void activation_forward(const ActivationForm& form, Input<T> x, Matrix<T> act) {
  const Clamp<T> clamp{form.clamp};
  with_function(form.kind, [&](const auto& f) {
    for (std::int64_t r = 0; r < act.rows; ++r)
      forward_of_row(f, form, clamp, act.cols, x.row(r), act.row(r));
  });
}

template <class T>
void activation_backward(const ActivationForm& form, Input<T> d_act, Input<T> x, Matrix<T> dx) {
  const Clamp<T> clamp{form.clamp};
  with_function(form.kind, [&](const auto& f) {
    for (std::int64_t r = 0; r < d_act.rows; ++r)
      backward_of_row(f, form, clamp, d_act.cols, d_act.row(r), x.row(r), dx.row(r));
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                    \
  template void activation_forward<T>(const ActivationForm&, Input<T>, Matrix<T>); \
  template void activation_backward<T>(const ActivationForm&, Input<T>, Input<T>, Matrix<T>)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace hexaplan::validator::kernels
