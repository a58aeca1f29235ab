#pragma once
#include <algorithm>
#include <initializer_list>

#include "validator/executor/device/cuda/kernels/elements.h"

// How many threads a launch takes, and where. Host side.

namespace hexaplan::validator::cuda {

/// Blocks of a launch: enough for any GPU to be full, fixed so that sums do not depend on the GPU.
inline constexpr std::int64_t kManyBlocks = 4096;

/// Whether every row of every view starts at a multiple of 16 bytes.
inline bool packed(std::initializer_list<View> views) {
  return std::all_of(views.begin(), views.end(), [](const View& v) {
    const auto aligned = [&](std::uint64_t bytes) { return bytes % sizeof(Words) == 0; };
    return aligned(reinterpret_cast<std::uintptr_t>(v.data)) &&
           (v.rows <= 1 || aligned(static_cast<std::uint64_t>(v.stride) * bytes_of(v.element)));
  });
}

inline std::int64_t ceil_of(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
inline unsigned as_dim(std::int64_t x) {
  return static_cast<unsigned>(x);
}

/// Threads for `items` beside each other: a power of two, [kWarp, most].
inline unsigned threads_for(std::int64_t items, unsigned most = kLargestBlock) {
  unsigned threads = kWarp;
  while (threads < most && threads < items) threads *= 2;
  return threads;
}

/// One block per row, as wide as the row is.
inline Spread by_rows(const char* name, std::int64_t rows, std::int64_t cols,
                      std::int64_t most = kManyBlocks) {
  return {.name = name,
          .grid = {as_dim(std::min(rows, most)), 1, 1},
          .block = {threads_for(ceil_of(cols, kPack)), 1, 1}};
}

/// One warp per row, eight rows per block.
inline constexpr unsigned kWarpsPerBlock = 8;
inline Spread by_warps(const char* name, std::int64_t rows) {
  return {.name = name,
          .grid = {as_dim(std::min(ceil_of(rows, kWarpsPerBlock), kManyBlocks)), 1, 1},
          .block = {kWarp, kWarpsPerBlock, 1}};
}

/// Rows × columns of packs, each on its own.
inline Spread by_elements(const char* name, std::int64_t rows, std::int64_t cols) {
  constexpr unsigned kThreads = 256;
  constexpr std::int64_t kMostRowBlocks = 65535;  // of gridDim.y
  if (rows == 0 || cols == 0) return {.name = name, .grid = {0, 0, 0}, .block = {kThreads, 1, 1}};
  const std::int64_t packs = ceil_of(cols, kPack);
  unsigned wide = 1;
  while (wide < kThreads && wide < packs) wide *= 2;
  const std::int64_t across = std::min(ceil_of(packs, wide), kManyBlocks);
  const std::int64_t down =
      std::min({ceil_of(rows, kThreads / wide), ceil_of(kManyBlocks, across), kMostRowBlocks});
  return {.name = name, .grid = {as_dim(across), as_dim(down), 1}, .block = {wide, kThreads / wide, 1}};
}

/// Calls operation.run<count>(row, column) for every element, `count` columns at once.
template <class Operation>
HEXAPLAN_KERNEL elementwise(Operation operation, std::int64_t rows, std::int64_t cols, bool in_packs) {
  const std::int64_t first_row = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t r = first_row; r < rows; r += std::int64_t{gridDim.y} * blockDim.y) {
    for_columns(cols, in_packs, thread, threads,
                [&](auto width, std::int64_t c) { operation.template run<decltype(width)::kValue>(r, c); });
  }
}
template <class Operation>
void launch_elementwise(const Queue& queue, const char* name, std::int64_t rows, std::int64_t cols,
                        bool in_packs, const Operation& operation) {
  launch(queue, by_elements(name, rows, cols), elementwise<Operation>, operation, rows, cols, in_packs);
}

/// The same elements as one row, where rows lie one behind the other.
inline View flat(const View& v) {
  return v.contiguous() ? v.reshaped(1, v.elements()) : v;
}
/// Views of one shape, all flat or none.
template <class... Views>
void flatten(Views&... views) {
  if ((views.contiguous() && ...)) ((views = flat(views)), ...);
}

}  // namespace hexaplan::validator::cuda
