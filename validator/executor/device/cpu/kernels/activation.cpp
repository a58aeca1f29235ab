#include "validator/executor/device/cpu/kernels/activation.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {
namespace {

/// Numbers that are computed at once: vector code for their exponentials, and no more than a cache line's
/// loads between the passes over them.
constexpr std::int64_t kRun = 256;
template <class T>
using Run = Eigen::Array<T, 1, Eigen::Dynamic, Eigen::RowMajor, 1, kRun>;

/// Values of a function and its slopes.
template <class T>
struct Values {
  Run<T> value, slope;
};

/// x·σ(steepness·x). Eigen's vector exp never overflows: what is too small for a normal number is nothing.
template <class T>
void sigmoid_unit(const Run<T>& x, T steepness, Values<T>& to) {
  to.slope = 1 / (1 + (-steepness * x).exp());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const T s = to.slope(i) < std::numeric_limits<T>::min() * 4 ? T{0} : to.slope(i);
    to.value(i) = x(i) * s;
    to.slope(i) = s * (1 + steepness * x(i) * (1 - s));
  }
}

struct Silu {
  template <class T>
  void operator()(const Run<T>& x, Values<T>& to) const {
    sigmoid_unit(x, T{1}, to);
  }
};
struct GeluQuick {
  template <class T>
  void operator()(const Run<T>& x, Values<T>& to) const {
    sigmoid_unit(x, static_cast<T>(1.702), to);
  }
};
struct GeluExact {
  template <class T>
  void operator()(const Run<T>& x, Values<T>& to) const {
    constexpr T kRootOfHalf = std::numbers::sqrt2_v<T> / 2;
    to.slope = std::numbers::inv_sqrtpi_v<T> * kRootOfHalf * (-x * x / 2).exp();  // the density
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const T cumulative = (1 + std::erf(x(i) * kRootOfHalf)) / 2;
      to.value(i) = x(i) * cumulative;
      to.slope(i) = cumulative + x(i) * to.slope(i);
    }
  }
};
struct GeluTanh {
  template <class T>
  void operator()(const Run<T>& x, Values<T>& to) const {
    constexpr T kScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
    constexpr auto kCube = static_cast<T>(0.044715);
    to.slope = (kScale * (x + kCube * x * x * x)).tanh();
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const T t = to.slope(i);
      to.value(i) = x(i) * (1 + t) / 2;
      to.slope(i) = (1 + t + x(i) * (1 - t * t) * kScale * (1 + 3 * kCube * x(i) * x(i))) / 2;
    }
  }
};
struct Relu {
  template <class T>
  void operator()(const Run<T>& x, Values<T>& to) const {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      to.value(i) = std::max(x(i), T{0});
      to.slope(i) = x(i) > 0 ? T{1} : T{0};
    }
  }
};
struct ReluSquared {
  template <class T>
  void operator()(const Run<T>& x, Values<T>& to) const {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const T positive = std::max(x(i), T{0});
      to.value(i) = positive * positive;
      to.slope(i) = 2 * positive;
    }
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

/// Calls run(first column, how many) for a row of `cols` results.
template <class Visitor>
void in_runs(std::int64_t cols, const Visitor& run) {
  for (std::int64_t first = 0; first < cols; first += kRun) run(first, std::min(kRun, cols - first));
}

/// What the function sees of a row: its numbers, or its gates.
template <class T>
Run<T> seen(const ActivationForm& form, const Clamp<T>& clamp, const T* x, std::int64_t count) {
  Run<T> out(count);
  for (std::int64_t c = 0; c < count; ++c) out(c) = form.gated ? clamp.gate(x[c]) : x[c];
  return out;
}

// One row of `cols` results.

template <class Function, class T>
void forward_of_row(const Function& f, const ActivationForm& form, const Clamp<T>& clamp, std::int64_t cols,
                    const T* x, T* y) {
  in_runs(cols, [&](std::int64_t first, std::int64_t count) {
    Values<T> v{Run<T>(count), Run<T>(count)};
    f(seen(form, clamp, x + first, count), v);
    if (!form.gated) {
      std::copy_n(v.value.data(), count, y + first);
      return;
    }
    for (std::int64_t c = 0; c < count; ++c) y[first + c] = v.value(c) * clamp.up(x[cols + first + c]);
  });
}

template <class Function, class T>
void backward_of_row(const Function& f, const ActivationForm& form, const Clamp<T>& clamp, std::int64_t cols,
                     const T* dy, const T* x, T* dx) {
  in_runs(cols, [&](std::int64_t first, std::int64_t count) {
    Values<T> v{Run<T>(count), Run<T>(count)};
    f(seen(form, clamp, x + first, count), v);
    if (!form.gated) {
      for (std::int64_t c = 0; c < count; ++c) dx[first + c] = dy[first + c] * v.slope(c);
      return;
    }
    for (std::int64_t c = 0; c < count; ++c) {
      const T gate = x[first + c], up = x[cols + first + c], d = dy[first + c];
      dx[first + c] = gate <= clamp.limit ? d * clamp.up(up) * v.slope(c) : T{0};
      dx[cols + first + c] = std::abs(up) <= clamp.limit ? d * v.value(c) : T{0};
    }
  });
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

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
