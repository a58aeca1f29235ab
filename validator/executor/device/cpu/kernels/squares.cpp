#include "validator/executor/device/cpu/kernels/squares.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// Sums side by side, so that one addition does not wait for the one before: the same ones in every set.
constexpr std::size_t kSquareSums = 16;

template <class T>
void add_squares(const T* row, std::int64_t cols, std::array<double, kSquareSums>& sums) {
  constexpr auto kAtOnce = static_cast<std::int64_t>(kSquareSums);
  std::int64_t c = 0;
  for (; c + kAtOnce <= cols; c += kAtOnce) {
    for (std::size_t i = 0; i < kSquareSums; ++i) {
      const auto value = static_cast<double>(row[c + static_cast<std::int64_t>(i)]);
      sums[i] += value * value;
    }
  }
  for (; c < cols; ++c) sums[0] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
}

template <class T>
double sum_of_squares(Input<T> x) {
  std::array<double, kSquareSums> sums{};
  for (std::int64_t r = 0; r < x.rows; ++r) add_squares(x.row(r), x.cols, sums);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template double sum_of_squares<double>(Input<double>);
template double sum_of_squares<float>(Input<float>);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
