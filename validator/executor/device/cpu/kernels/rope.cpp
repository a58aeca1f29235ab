#include "validator/executor/device/cpu/kernels/rope.h"

#include <cmath>
#include <cstddef>

namespace hexaplan::validator::kernels {
namespace {

/// Turns the point (x, y) by the angle with this cosine and sine, and stretches it as they are stretched.
template <class T>
void turn(T& x, T& y, T cosine, T sine) {
  const T a = x, b = y;
  x = a * cosine - b * sine;
  y = b * cosine + a * sine;
}

}  // namespace

template <class T>
void rope(Matrix<T> x, const std::int32_t* positions, const Rotation& rotation, int direction) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t i = 0; i < rotation.pairs; ++i) {
      const double angle =
          static_cast<double>(positions[r]) * rotation.frequencies[static_cast<std::size_t>(i)];
      const T cosine = static_cast<T>(rotation.magnitude * std::cos(angle)),
              sine = static_cast<T>(rotation.magnitude * direction * std::sin(angle));
      const std::int64_t one = rotation.first + (rotation.interleaved ? 2 * i : i);
      const std::int64_t other = one + (rotation.interleaved ? 1 : rotation.pairs);
      for (T* head = x.row(r); head != x.row(r) + x.cols; head += rotation.head_dim)
        turn(head[one], head[other], cosine, sine);
    }
  }
}

template void rope<double>(Matrix<double>, const std::int32_t*, const Rotation&, int);
template void rope<float>(Matrix<float>, const std::int32_t*, const Rotation&, int);

}  // namespace hexaplan::validator::kernels
