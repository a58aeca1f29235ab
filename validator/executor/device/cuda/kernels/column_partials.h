#pragma once
#include "validator/executor/device/cuda/kernels/spread.h"

// Sums over rows, in two passes: every block sums some rows of each column, then the blocks' sums are added
// in their order.

namespace hexaplan::validator::cuda {

/// As many blocks' sums as fit the scratch memory, and no more than are useful.
inline std::int64_t most_partials(std::int64_t cols) {
  constexpr std::int64_t kUseful = 264;  // two blocks for each of an H100's 132 multiprocessors
  const auto fit = static_cast<std::int64_t>(kScratchBytes / sizeof(float)) / std::max<std::int64_t>(1, cols);
  return std::min(kUseful, fit);
}

/// sums[c] += Σ over `count` rows of partials, `sums` a vector.
void add_partials(const Queue& queue, const float* partials, unsigned count, const View& sums);

}  // namespace hexaplan::validator::cuda
