#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hexaplan::validator {

/// The 256 numbers, ascending, that 8 bits of an optimizer's state stand for; times the largest of a block.
struct DynamicMap {
  std::array<float, 256> values{};

  /// The code of the nearest; the smaller one where two are as near.
  template <class T>
  [[nodiscard]] constexpr int nearest(T x) const {
    int low = 0, high = 255;  // the answer lies in [low, high]
    while (low < high) {
      const int middle = (low + high) / 2;
      const auto between = (static_cast<T>(values[static_cast<std::size_t>(middle)]) +
                            static_cast<T>(values[static_cast<std::size_t>(middle) + 1])) /
                           2;
      if (x > between) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

/// Dynamic tree quantisation (arXiv:1511.04561 section 2; with and without a sign: arXiv:2110.02861 section
/// 1.3): powers of ten from 1e-6 on, each with twice as many fractions as the one before, their midpoints
/// spread evenly over [0.1, 1]; zero and one. (bitsandbytes functional.py, create_dynamic_map, which computes
/// in float32.)
[[nodiscard]] inline DynamicMap dynamic_map(bool has_sign) {
  constexpr int kExponents = 7;
  DynamicMap map;
  std::size_t count = 0;
  for (int i = 0; i < kExponents; ++i) {
    const int steps = has_sign ? 1 << i : 1 << (i + 1);
    const double power = std::pow(10.0, i - (kExponents - 1));
    for (int k = 0; k < steps; ++k) {
      const auto value = static_cast<float>(power * (0.1 + 0.9 * (k + 0.5) / steps));
      map.values.at(count++) = value;
      if (has_sign) map.values.at(count++) = -value;
    }
  }
  map.values.at(count++) = 0;
  map.values.at(count++) = 1;
  std::sort(map.values.begin(), map.values.end());
  return map;
}

}  // namespace hexaplan::validator
