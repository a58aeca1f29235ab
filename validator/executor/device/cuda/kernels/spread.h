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

/// What all views of a launch have in common, for which kernels are compiled apart.
struct Format {
  bool in_packs = false;
  bool bf16 = false;   // all of them: no branch on the element
  bool words = false;  // all of them are words of 4 bytes
};
inline Format format_of(std::initializer_list<View> views) {
  const auto all = [&](auto property) { return std::all_of(views.begin(), views.end(), property); };
  return {packed(views), all([](const View& v) { return v.data == nullptr || v.element == Element::Bf16; }),
          all([](const View& v) { return bytes_of(v.element) == 4; })};
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
inline Spread by_elements(const char* name, std::int64_t rows, std::int64_t cols, int wide_packs = kPack) {
  constexpr unsigned kThreads = 256;
  constexpr std::int64_t kMostRowBlocks = 65535;  // of gridDim.y
  if (rows == 0 || cols == 0) return {.name = name, .grid = {0, 0, 0}, .block = {kThreads, 1, 1}};
  const std::int64_t packs = ceil_of(cols, wide_packs);
  unsigned wide = 1;
  while (wide < kThreads && wide < packs) wide *= 2;
  const std::int64_t across = std::min(ceil_of(packs, wide), kManyBlocks);
  const std::int64_t down =
      std::min({ceil_of(rows, kThreads / wide), ceil_of(kManyBlocks, across), kMostRowBlocks});
  return {.name = name, .grid = {as_dim(across), as_dim(down), 1}, .block = {wide, kThreads / wide, 1}};
}

/// Calls operation.run<count>(row, column) for every element, `count` columns at once.
template <int kWide, bool kBf16, class Operation>
HEXAPLAN_KERNEL elementwise(Operation operation, std::int64_t rows, std::int64_t cols, bool in_packs) {
  if constexpr (kBf16) operation.assume(Element::Bf16);
  const std::int64_t first_row = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t r = first_row; r < rows; r += std::int64_t{gridDim.y} * blockDim.y) {
    for_columns<kWide>(cols, in_packs, thread, threads, [&](auto width, std::int64_t c) {
      operation.template run<decltype(width)::kValue>(r, c);
    });
  }
}

/// Operations that bf16 is worth a kernel of their own say so by assume(Element), those of words by
/// TakesWords.
template <class Operation>
void launch_elementwise(const Queue& queue, const char* name, std::int64_t rows, std::int64_t cols,
                        const Format& format, const Operation& operation) {
  if constexpr (requires(Operation o) { o.assume(Element::Bf16); }) {
    if (format.bf16 && format.in_packs)
      return launch(queue, by_elements(name, rows, cols), elementwise<kPack, true, Operation>, operation,
                    rows, cols, true);
  }
  if constexpr (requires { typename Operation::TakesWords; }) {
    if (format.words && format.in_packs)
      return launch(queue, by_elements(name, rows, cols, kWordPack), elementwise<kWordPack, false, Operation>,
                    operation, rows, cols, true);
  }
  launch(queue, by_elements(name, rows, cols), elementwise<kPack, false, Operation>, operation, rows, cols,
         format.in_packs);
}
template <class Operation>
void launch_elementwise(const Queue& queue, const char* name, std::int64_t rows, std::int64_t cols,
                        bool in_packs, const Operation& operation) {
  launch_elementwise(queue, name, rows, cols, Format{.in_packs = in_packs}, operation);
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
