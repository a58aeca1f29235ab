#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {
namespace {

// 64 × 64 results per block of 16 × 16 threads, 4 × 4 of them per thread, 16 of the inner dimension at a
// time.
constexpr int kTile = 64, kDepth = 16, kSide = 16, kOwn = kTile / kSide;

/// op(v) element (row, col), zero outside.
HEXAPLAN_DEVICE float element_of(const View& v, bool transpose, std::int64_t row, std::int64_t col) {
  const std::int64_t r = transpose ? col : row, c = transpose ? row : col;
  return r < v.rows && c < v.cols ? load(v, r, c) : 0;
}

struct Tiles {
  float a[kDepth][kTile + 1], b[kDepth][kTile + 1];  // one more: a column's neighbours lie in other banks
};

/// Threads walk along what lies side by side in memory.
HEXAPLAN_DEVICE void load_tiles(const Gemm& g, std::int64_t row, std::int64_t col, std::int64_t depth,
                                Tiles& tiles) {
  const int thread = static_cast<int>(threadIdx.x + threadIdx.y * kSide);
  for (int i = thread; i < kTile * kDepth; i += kSide * kSide) {
    const int across = g.transpose_a ? i % kTile : i / kDepth, deep = g.transpose_a ? i / kTile : i % kDepth;
    tiles.a[deep][across] = element_of(g.a, g.transpose_a, row + across, depth + deep);
  }
  for (int i = thread; i < kTile * kDepth; i += kSide * kSide) {
    const int across = g.transpose_b ? i / kDepth : i % kTile, deep = g.transpose_b ? i % kDepth : i / kTile;
    tiles.b[deep][across] = element_of(g.b, g.transpose_b, depth + deep, col + across);
  }
}

HEXAPLAN_DEVICE void multiply(const Gemm& g) {
  HEXAPLAN_SHARED Tiles tiles;
  const std::int64_t row = std::int64_t{blockIdx.y} * kTile, col = std::int64_t{blockIdx.x} * kTile;
  if (row >= g.c.rows || col >= g.c.cols) return;
  const std::int64_t inner = g.transpose_a ? g.a.rows : g.a.cols;
  float sum[kOwn][kOwn] = {};
  for (std::int64_t depth = 0; depth < inner; depth += kDepth) {
    load_tiles(g, row, col, depth, tiles);
    sync_block();
    for (int d = 0; d < kDepth; ++d) {
      float a[kOwn], b[kOwn];
      for (int i = 0; i < kOwn; ++i) {
        a[i] = tiles.a[d][threadIdx.y + i * kSide];
        b[i] = tiles.b[d][threadIdx.x + i * kSide];
      }
      for (int i = 0; i < kOwn; ++i) {
        for (int j = 0; j < kOwn; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    sync_block();
  }
  for (int i = 0; i < kOwn; ++i) {
    for (int j = 0; j < kOwn; ++j) {
      const std::int64_t r = row + threadIdx.y + i * kSide, c = col + threadIdx.x + j * kSide;
      if (r >= g.c.rows || c >= g.c.cols) continue;
      store(g.c, r, c, g.accumulate ? load(g.c, r, c) + sum[i][j] : sum[i][j]);
    }
  }
}

HEXAPLAN_KERNEL multiply_one(Gemm g) {
  multiply(g);
}

/// Offsets travel as arguments of the kernel.
constexpr std::size_t kMostGroups = 128;
struct Groups {
  std::int64_t offsets[kMostGroups + 1];
  std::int64_t first, count;  // of these among all groups
};

HEXAPLAN_DEVICE View rows_of(const View& v, std::int64_t first, std::int64_t count) {
  return {row_of(v, first), v.element, count, v.cols, v.stride};
}

HEXAPLAN_KERNEL multiply_group(Gemm g, Groups groups) {
  const std::int64_t first = groups.offsets[blockIdx.z], rows = groups.offsets[blockIdx.z + 1] - first;
  const std::int64_t group = groups.first + blockIdx.z;
  g.a = rows_of(g.a, first, rows);
  if (g.transpose_a) {
    const std::int64_t height = g.c.rows / groups.count;
    g.b = rows_of(g.b, first, rows);
    g.c = rows_of(g.c, group * height, height);
  } else {
    const std::int64_t height = g.b.rows / groups.count;
    g.b = rows_of(g.b, group * height, height);
    g.c = rows_of(g.c, first, rows);
  }
  multiply(g);
}

Spread by_tiles(const char* name, std::int64_t rows, std::int64_t cols, std::int64_t groups) {
  return {.name = name,
          .grid = {as_dim(ceil_of(cols, kTile)), as_dim(ceil_of(rows, kTile)), as_dim(groups)},
          .block = {kSide, kSide, 1}};
}

}  // namespace

void gemm(const Queue& queue, const Gemm& g) {
  launch(queue, by_tiles("gemm", g.c.rows, g.c.cols, 1), multiply_one, g);
}

void grouped_gemm(const Queue& queue, const Gemm& g, std::span<const std::int64_t> offsets) {
  const std::size_t count = offsets.size() - 1;
  for (std::size_t first = 0; first < count; first += kMostGroups) {
    const std::size_t here = std::min(kMostGroups, count - first);
    Groups groups{.first = static_cast<std::int64_t>(first), .count = static_cast<std::int64_t>(count)};
    std::int64_t most_rows = g.transpose_a ? g.c.rows / groups.count : 0;
    for (std::size_t i = 0; i <= here; ++i) {
      groups.offsets[i] = offsets[first + i];
      if (i > 0 && !g.transpose_a) most_rows = std::max(most_rows, groups.offsets[i] - groups.offsets[i - 1]);
    }
    launch(queue, by_tiles("grouped_gemm", most_rows, g.c.cols, static_cast<std::int64_t>(here)),
           multiply_group, g, groups);
  }
}

}  // namespace hexaplan::validator::cuda
