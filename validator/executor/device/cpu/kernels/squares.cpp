#include "validator/executor/device/cpu/kernels/squares.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// Sums side by side, so that one addition does not wait for the one before: the same ones in every set.
template <class T>
double sum_of_squares(Input<T> x) {
  constexpr std::int64_t kSums = 16;
  std::array<double, kSums> sums{};
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const T* const row = x.row(r);
    std::int64_t c = 0;
    for (; c + kSums <= x.cols; c += kSums) {
      for (std::int64_t i = 0; i < kSums; ++i) {
        const auto value = static_cast<double>(row[c + i]);
        sums[static_cast<std::size_t>(i)] += value * value;
      }
    }
    for (; c < x.cols; ++c) sums[0] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template double sum_of_squares<double>(Input<double>);
template double sum_of_squares<float>(Input<float>);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
