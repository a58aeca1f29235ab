#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"

namespace hexaplan::validator::cuda {
namespace {

HEXAPLAN_KERNEL max_of_rows(View logits, std::int64_t valid, View maxima, bool in_packs) {
  for (std::int64_t r = blockIdx.x; r < logits.rows; r += gridDim.x) {
    float largest = kNothing;
    for_columns(valid, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      const Pack<kCount> in = load<kCount>(logits, r, c);
      for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, in.at[i]);
    });
    largest = over_block(largest, Max{});
    if (threadIdx.x == 0) set_vector(maxima, r, largest);
  }
}

HEXAPLAN_KERNEL sums_of_rows(View logits, std::int64_t valid, View maxima, View targets, std::int64_t first,
                             View sums, bool in_packs) {
  for (std::int64_t r = blockIdx.x; r < logits.rows; r += gridDim.x) {
    const float largest = vector_at(maxima, r);
    float sum = 0;
    for_columns(valid, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      const Pack<kCount> in = load<kCount>(logits, r, c);
      for (int i = 0; i < kCount; ++i) sum += expf(in.at[i] - largest);
    });
    sum = over_block(sum);
    if (threadIdx.x != 0) continue;
    const std::int64_t target = id_at(targets, r) - first;
    store(sums, r, 0, sum);
    store(sums, r, 1, target >= 0 && target < valid ? load(logits, r, target) - largest : 0);
  }
}

/// `losses`: one per row, without the factor.
HEXAPLAN_KERNEL gradient_of_rows(View logits, std::int64_t valid, View maxima, View sums, View targets,
                                 std::int64_t first, float factor, View d_logits, bool in_packs,
                                 float* losses) {
  for (std::int64_t r = blockIdx.x; r < logits.rows; r += gridDim.x) {
    const float largest = vector_at(maxima, r), denominator = load(sums, r, 0);
    const std::int64_t word = id_at(targets, r), target = word - first;
    const bool counts = word >= 0;
    const float scale = counts ? factor / denominator : 0;
    for_columns(valid, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      Pack<kCount> out = load<kCount>(logits, r, c);
      for (int i = 0; i < kCount; ++i) {
        out.at[i] = scale * expf(out.at[i] - largest) - (c + i == target ? factor : 0);
      }
      store(d_logits, r, c, out);
    });
    for (std::int64_t c = valid + threadIdx.x; c < d_logits.cols; c += blockDim.x) store(d_logits, r, c, 0);
    if (threadIdx.x == 0) losses[r] = counts ? logf(denominator) - load(sums, r, 1) : 0;
  }
}

HEXAPLAN_KERNEL add_losses(const float* losses, std::int64_t rows, double factor, View loss) {
  double mine = 0;
  for (std::int64_t r = threadIdx.x; r < rows; r += blockDim.x) mine += static_cast<double>(losses[r]);
  const double all = over_block(mine);
  if (threadIdx.x == 0)
    set_vector(loss, 0, static_cast<float>(static_cast<double>(vector_at(loss, 0)) + factor * all));
}

}  // namespace

void row_max(const Queue& queue, const View& logits, std::int64_t valid, const View& maxima) {
  assert(valid <= logits.cols);
  launch(queue, by_rows("row_max", logits.rows, valid), max_of_rows, logits, valid, maxima, packed({logits}));
}

void cross_entropy_sums(const Queue& queue, const View& logits, std::int64_t valid, const View& maxima,
                        const View& targets, std::int64_t first, const View& sums) {
  assert(valid <= logits.cols && sums.cols == 2);
  launch(queue, by_rows("cross_entropy_sums", logits.rows, valid), sums_of_rows, logits, valid, maxima,
         targets, first, sums, packed({logits}));
}

void cross_entropy_gradient(const Queue& queue, const View& logits, std::int64_t valid, const View& maxima,
                            const View& sums, const View& targets, std::int64_t first, double factor,
                            const View& d_logits, const View& loss) {
  assert(valid <= logits.cols && d_logits.cols == logits.cols);
  auto* losses = reinterpret_cast<float*>(queue.scratch);
  constexpr auto kRowsAtOnce = static_cast<std::int64_t>(kScratchBytes / sizeof(float));
  const auto column = [](const View& v, std::int64_t begin, std::int64_t count) {
    return v.rows == 1 ? v : v.row_range(begin, count);  // a vector of one element is one row
  };
  for (std::int64_t begin = 0; begin < logits.rows; begin += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, logits.rows - begin);
    const View in = logits.row_range(begin, count), out = d_logits.row_range(begin, count);
    launch(queue, by_rows("cross_entropy_gradient", count, logits.cols), gradient_of_rows, in, valid,
           column(maxima, begin, count), sums.row_range(begin, count), column(targets, begin, count), first,
           static_cast<float>(factor), out, packed({in, out}), losses);
    launch(queue, {"cross_entropy_gradient", {1, 1, 1}, {kLargestBlock, 1, 1}}, add_losses, losses, count,
           factor, loss);
  }
}

}  // namespace hexaplan::validator::cuda
