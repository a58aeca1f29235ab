#include "validator/device/cpu/kernels/rope.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace hexaplan::validator::kernels {
namespace {

/// Turns the point (x, y) by the angle with this cosine and sine.
template <class T>
void turn(T& x, T& y, T cosine, T sine) {
  const T a = x, b = y;
  x = a * cosine - b * sine;
  y = b * cosine + a * sine;
}

}  // namespace

template <class T>
void rope(Matrix<T> x, const std::int32_t* positions, std::int64_t head_dim, double theta, int direction) {
  const std::int64_t half = head_dim / 2;
  std::vector<double> frequency(static_cast<std::size_t>(half));
  for (std::int64_t i = 0; i < half; ++i) {
    frequency[static_cast<std::size_t>(i)] =
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
  }
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(positions[r]) * frequency[static_cast<std::size_t>(i)];
      const T cosine = static_cast<T>(std::cos(angle)), sine = static_cast<T>(direction * std::sin(angle));
      for (T* head = x.row(r); head != x.row(r) + x.cols; head += head_dim)
        turn(head[i], head[i + half], cosine, sine);
    }
  }
}

template void rope<double>(Matrix<double>, const std::int32_t*, std::int64_t, double, int);
template void rope<float>(Matrix<float>, const std::int32_t*, std::int64_t, double, int);

}  // namespace hexaplan::validator::kernels
