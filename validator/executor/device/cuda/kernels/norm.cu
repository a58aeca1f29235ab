#include <cassert>

#include "validator/executor/device/cuda/kernels/column_partials.h"

namespace hexaplan::validator::cuda {
namespace {

HEXAPLAN_KERNEL rms_norm_rows(View x, View weight, float epsilon, View y, View rstd, bool in_packs) {
  for (std::int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
    float squares = 0;
    for_columns(x.cols, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      const Pack<kCount> in = load<kCount>(x, r, c);
      for (int i = 0; i < kCount; ++i) squares += in.at[i] * in.at[i];
    });
    const float factor = 1 / sqrtf(over_block(squares) / static_cast<float>(x.cols) + epsilon);
    if (threadIdx.x == 0) set_vector(rstd, r, factor);
    for_columns(x.cols, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      Pack<kCount> out = load<kCount>(x, r, c);
      const Pack<kCount> w = load<kCount>(weight, 0, c);
      for (int i = 0; i < kCount; ++i) out.at[i] *= factor * w.at[i];
      store(y, r, c, out);
    });
  }
}

/// Where column c + i of a block's share of dweight lies: so that neighbouring threads meet neighbouring
/// words.
HEXAPLAN_DEVICE std::int64_t place_of(std::int64_t c, int i, int count, std::int64_t cols) {
  return count == kPack ? i * (cols / kPack) + c / kPack : c;
}

/// Block b's share of dweight goes to row b of `partials`, unless that is null.
HEXAPLAN_KERNEL rms_norm_backward_rows(View dy, View x, View weight, View rstd, View dx, bool in_packs,
                                       float* partials) {
  float* share = shared_memory<float>();
  const auto columns = [&](auto body) { for_columns(x.cols, in_packs, threadIdx.x, blockDim.x, body); };
  if (partials != nullptr) {
    columns([&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      for (int i = 0; i < kCount; ++i) share[place_of(c, i, kCount, x.cols)] = 0;
    });
  }
  for (std::int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
    const float factor = vector_at(rstd, r);
    float projection = 0;
    columns([&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      const Pack<kCount> in = load<kCount>(x, r, c), grad = load<kCount>(dy, r, c),
                         w = load<kCount>(weight, 0, c);
      for (int i = 0; i < kCount; ++i) projection += grad.at[i] * w.at[i] * in.at[i];
    });
    projection = over_block(projection) * factor / static_cast<float>(x.cols);
    columns([&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      const Pack<kCount> in = load<kCount>(x, r, c), grad = load<kCount>(dy, r, c),
                         w = load<kCount>(weight, 0, c);
      Pack<kCount> out = load<kCount>(dx, r, c);
      for (int i = 0; i < kCount; ++i) {
        const float normalised = in.at[i] * factor;
        if (partials != nullptr) share[place_of(c, i, kCount, x.cols)] += grad.at[i] * normalised;
        out.at[i] += factor * (grad.at[i] * w.at[i] - normalised * projection);
      }
      store(dx, r, c, out);
    });
  }
  if (partials == nullptr) return;
  columns([&](auto width, std::int64_t c) {
    constexpr int kCount = decltype(width)::kValue;
    for (int i = 0; i < kCount; ++i)
      partials[blockIdx.x * x.cols + c + i] = share[place_of(c, i, kCount, x.cols)];
  });
}

}  // namespace

void rms_norm(const Queue& queue, const View& x, const View& weight, double epsilon, const View& y,
              const View& rstd) {
  launch(queue, by_rows("rms_norm", x.rows, x.cols), rms_norm_rows, x, weight, static_cast<float>(epsilon), y,
         rstd, packed({x, weight, y}));
}

void rms_norm_backward(const Queue& queue, const View& dy, const View& x, const View& weight,
                       const View& rstd, const View& dx, const View& dweight) {
  if (x.elements() == 0) return;
  const bool wanted = dweight.data != nullptr;
  Spread spread = by_rows("rms_norm_backward", x.rows, x.cols, wanted ? most_partials(x.cols) : kManyBlocks);
  if (wanted) spread.shared_bytes = static_cast<std::size_t>(x.cols) * sizeof(float);
  auto* partials = wanted ? reinterpret_cast<float*>(queue.scratch) : nullptr;
  launch(queue, spread, rms_norm_backward_rows, dy, x, weight, rstd, dx, packed({dy, x, weight, dx}),
         partials);
  if (wanted) add_partials(queue, partials, spread.grid.x, dweight);
}

}  // namespace hexaplan::validator::cuda
