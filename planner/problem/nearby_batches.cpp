#include "planner/problem/nearby_batches.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace hexaplan::planner {
namespace {

struct Batch {
  std::int64_t size = 0;
  std::vector<std::int64_t> new_sizes;  // data-parallel, ascending
};

/// Sizes that can divide `gpus` GPUs and do not divide `asked`.
std::vector<std::int64_t> missing_sizes(std::int64_t asked, std::int64_t gpus) {
  std::vector<std::int64_t> out;
  for (std::int64_t size = 1; size <= gpus; ++size) {
    if (gpus % size == 0 && asked % size != 0) out.push_back(size);
  }
  return out;
}

/// The batch of `size`, with those of `missing` that divide it.
Batch batch_of(std::int64_t size, const std::vector<std::int64_t>& missing) {
  Batch batch{size, {}};
  for (const std::int64_t parallel : missing) {
    if (size % parallel == 0) batch.new_sizes.push_back(parallel);
  }
  return batch;
}

/// Whether a batch of `kept` has every size of `batch`.
bool covered(const Batch& batch, const std::vector<Batch>& kept) {
  return std::any_of(kept.begin(), kept.end(), [&](const Batch& closer) {
    return std::includes(closer.new_sizes.begin(), closer.new_sizes.end(), batch.new_sizes.begin(),
                         batch.new_sizes.end());
  });
}

}  // namespace

std::vector<std::int64_t> nearby_batches(std::int64_t asked, double tolerance, std::int64_t gpus) {
  const std::vector<std::int64_t> missing = missing_sizes(asked, gpus);
  const auto most = static_cast<std::int64_t>(std::floor(static_cast<double>(asked) * tolerance + 1e-9));
  std::vector<Batch> kept;
  for (std::int64_t distance = 1; distance <= most; ++distance) {
    for (const std::int64_t size : {asked - distance, asked + distance}) {
      if (size < 1) continue;
      Batch batch = batch_of(size, missing);
      if (!batch.new_sizes.empty() && !covered(batch, kept)) kept.push_back(std::move(batch));
    }
  }
  std::vector<std::int64_t> out{asked};
  for (const Batch& batch : kept) out.push_back(batch.size);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace hexaplan::planner
