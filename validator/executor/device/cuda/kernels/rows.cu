#include <cassert>

#include "validator/executor/device/cuda/kernels/column_partials.h"

namespace hexaplan::validator::cuda {
namespace {

/// out[i] = table[ids[i] − first], zeros where there is no such row.
struct GatherRows {
  View table, ids;
  std::int64_t first;
  View out;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const std::int64_t row = id_at(ids, r) - first;
    Pack<kCount> in{};
    if (row >= 0 && row < table.rows) in = load<kCount>(table, row, c);
    store(out, r, c, in);
  }
};

/// out[r] = x[r / times].
struct RepeatRows {
  View x, out;
  std::int64_t times;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    store(out, r, c, load<kCount>(x, r / times, c));
  }
};
/// out[r] += the `times` rows of x from r·times on.
struct AddRepeatedRows {
  View x, out;
  std::int64_t times;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> sum = load<kCount>(out, r, c);
    for (std::int64_t i = r * times; i < (r + 1) * times; ++i) {
      const Pack<kCount> in = load<kCount>(x, i, c);
      for (int k = 0; k < kCount; ++k) sum.at[k] += in.at[k];
    }
    store(out, r, c, sum);
  }
};

// Adding rows: every block owns kOwnRows rows of the output, reads the whole list of targets and adds up what
// is for its rows, in the order of the list. No atomics, so the sums are the same every time.
constexpr std::int64_t kOwnRows = 16;
constexpr unsigned kAddThreads = 256, kAddWarps = kAddThreads / kWarp;
constexpr int kRounds = 4;                           // ids that a thread reads at once
constexpr int kListed = kRounds * int{kAddThreads};  // ids that a block reads at once
constexpr int kMostFound = 2 * kListed;

/// Rows of x that are for a block's rows.
struct Found {
  std::int32_t source[kMostFound];
  std::int32_t target[kMostFound];  // counted from the block's first
};

/// Looks through ids [begin, begin + kListed) and writes those for rows [base, base + own) behind the
/// `count` found before, in their order. All threads get the new count. `totals`: of this call alone.
HEXAPLAN_DEVICE int find_rows(const View& ids, std::int64_t first, std::int64_t base, std::int64_t own,
                              std::int64_t begin, int count, int (&totals)[kRounds][kAddWarps],
                              Found& found) {
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  std::int64_t target[kRounds];
  unsigned mine[kRounds];
  for (int k = 0; k < kRounds; ++k) {
    const std::int64_t i = begin + k * std::int64_t{kAddThreads} + threadIdx.x;
    target[k] = i < ids.rows * ids.cols ? id_at(ids, i) - first - base : -1;
  }
  for (int k = 0; k < kRounds; ++k) {
    mine[k] = ballot(target[k] >= 0 && target[k] < own);
    if (lane == 0) totals[k][warp] = count_bits(mine[k]);
  }
  sync_block();
  for (int k = 0; k < kRounds; ++k) {
    for (unsigned w = 0; w < kAddWarps; ++w) {
      if (w == warp && (mine[k] >> lane & 1U) != 0) {
        const int place = count + count_bits(mine[k] & ((1U << lane) - 1));
        found.source[place] = static_cast<std::int32_t>(begin + k * std::int64_t{kAddThreads} + threadIdx.x);
        found.target[place] = static_cast<std::int32_t>(target[k]);
      }
      count += totals[k][w];
    }
  }
  return count;
}

/// out[base + target] += Σ factor·x[source] over what was found.
HEXAPLAN_DEVICE void add_found(const View& x, const View& factors, const View& out, std::int64_t base,
                               bool in_packs, int count, const Found& found) {
  unsigned touched = 0;
  for (int i = 0; i < count; ++i) touched |= 1U << found.target[i];
  for (int target = 0; target < kOwnRows; ++target) {
    if ((touched >> target & 1U) == 0) continue;
    for_columns(x.cols, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      Pack<kCount> sum = load<kCount>(out, base + target, c);
      for (int f = 0; f < count; ++f) {
        if (found.target[f] != target) continue;
        const std::int64_t row = found.source[f];
        const Pack<kCount> in = load<kCount>(x, row, c);
        const float factor = factors.data != nullptr ? vector_at(factors, row) : 1;
        for (int i = 0; i < kCount; ++i) sum.at[i] += factor * in.at[i];
      }
      store(out, base + target, c, sum);
    });
  }
}

HEXAPLAN_KERNEL add_rows(View x, View ids, std::int64_t first, View factors, View out, bool in_packs) {
  HEXAPLAN_SHARED Found found;
  HEXAPLAN_SHARED int totals[2][kRounds][kAddWarps];  // in turn: slow threads may still read the last
  int turn = 0;
  for (std::int64_t base = blockIdx.x * kOwnRows; base < out.rows; base += gridDim.x * kOwnRows) {
    const std::int64_t left = out.rows - base, own = left < kOwnRows ? left : kOwnRows;
    int count = 0;
    for (std::int64_t begin = 0; begin < x.rows; begin += kListed, turn ^= 1) {
      count = find_rows(ids, first, base, own, begin, count, totals[turn], found);
      if (count == 0 || (count <= kMostFound - kListed && begin + kListed < x.rows)) continue;
      sync_block();
      add_found(x, factors, out, base, in_packs, count, found);
      sync_block();
      count = 0;
    }
  }
}

void launch_add_rows(const Queue& queue, const char* name, const View& x, const View& ids, std::int64_t first,
                     const View& factors, const View& out) {
  assert(ids.elements() == x.rows && out.cols == x.cols);
  const std::int64_t blocks = std::min(ceil_of(out.rows, kOwnRows), kManyBlocks);
  launch(queue, {name, {as_dim(blocks), 1, 1}, {kAddThreads, 1, 1}}, add_rows, x, ids, first, factors, out,
         packed({x, out}));
}

HEXAPLAN_KERNEL dots_of_rows(View a, View b, View dots, bool in_packs) {
  for (std::int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    float sum = 0;
    for_columns(a.cols, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      const Pack<kCount> left = load<kCount>(a, r, c), right = load<kCount>(b, r, c);
      for (int i = 0; i < kCount; ++i) sum += left.at[i] * right.at[i];
    });
    sum = over_block(sum);
    if (threadIdx.x == 0) set_vector(dots, r, sum);
  }
}

/// Row b of `partials`: the sums over rows b, b + gridDim.y, … of x.
HEXAPLAN_KERNEL sums_of_columns(View x, float* partials) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= x.cols) return;
  float sum = 0;
  for (std::int64_t r = blockIdx.y; r < x.rows; r += gridDim.y) sum += load(x, r, c);
  partials[blockIdx.y * x.cols + c] = sum;
}

/// The same of products of a and b.
HEXAPLAN_KERNEL dots_of_columns(View a, View b, float* partials) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= a.cols) return;
  float sum = 0;
  for (std::int64_t r = blockIdx.y; r < a.rows; r += gridDim.y) sum += load(a, r, c) * load(b, r, c);
  partials[blockIdx.y * a.cols + c] = sum;
}

constexpr unsigned kPartialWarps = 8;
/// A warp's lanes are columns; its warps take partials in turn.
HEXAPLAN_KERNEL sums_of_partials(const float* partials, unsigned count, std::int64_t cols, View sums) {
  HEXAPLAN_SHARED float of_warps[kPartialWarps][kWarp];
  const std::int64_t c = std::int64_t{blockIdx.x} * kWarp + threadIdx.x;
  float sum = 0;
  if (c < cols) {
    for (unsigned p = threadIdx.y; p < count; p += kPartialWarps) sum += partials[p * cols + c];
  }
  of_warps[threadIdx.y][threadIdx.x] = sum;
  sync_block();
  if (threadIdx.y != 0 || c >= cols) return;
  float all = vector_at(sums, c);
  for (unsigned w = 0; w < kPartialWarps; ++w) all += of_warps[w][threadIdx.x];
  set_vector(sums, c, all);
}

}  // namespace

void add_partials(const Queue& queue, const float* partials, unsigned count, const View& sums) {
  const std::int64_t cols = sums.elements();
  launch(queue, {"add_partials", {as_dim(ceil_of(cols, kWarp)), 1, 1}, {kWarp, kPartialWarps, 1}},
         sums_of_partials, partials, count, cols, sums);
}

void gather_rows(const Queue& queue, const View& x, const View& rows, const View& out) {
  assert(rows.elements() == out.rows && x.cols == out.cols);
  launch_elementwise(queue, "gather_rows", out.rows, out.cols, packed({x, out}), GatherRows{x, rows, 0, out});
}

void embedding_lookup(const Queue& queue, const View& ids, const View& table, std::int64_t first,
                      const View& out) {
  assert(ids.elements() == out.rows && table.cols == out.cols);
  launch_elementwise(queue, "embedding_lookup", out.rows, out.cols, packed({table, out}),
                     GatherRows{table, ids, first, out});
}

void scatter_rows(const Queue& queue, const View& x, const View& rows, const View& factors, const View& out) {
  launch_add_rows(queue, "scatter_rows", x, rows, 0, factors, out);
}

void embedding_backward(const Queue& queue, const View& ids, const View& d_out, std::int64_t first,
                        const View& d_table) {
  launch_add_rows(queue, "embedding_backward", d_out, ids, first, {}, d_table);
}

void row_dots(const Queue& queue, const View& a, const View& b, const View& dots) {
  assert(a.rows == b.rows && a.cols == b.cols);
  launch(queue, by_rows("row_dots", a.rows, a.cols), dots_of_rows, a, b, dots, packed({a, b}));
}

void repeat_rows(const Queue& queue, const View& x, const View& out) {
  if (x.rows == 0) return;
  assert(out.rows % x.rows == 0 && out.cols == x.cols);
  launch_elementwise(queue, "repeat_rows", out.rows, out.cols, packed({x, out}),
                     RepeatRows{x, out, out.rows / x.rows});
}

void add_repeated_rows(const Queue& queue, const View& x, const View& out) {
  if (out.rows == 0) return;
  assert(x.rows % out.rows == 0 && out.cols == x.cols);
  launch_elementwise(queue, "add_repeated_rows", out.rows, out.cols, packed({x, out}),
                     AddRepeatedRows{x, out, x.rows / out.rows});
}

namespace {

/// Partial sums of `x`'s columns by kernel(operands..., partials), added into `sums`.
template <class Kernel, class... Operands>
void launch_column_sums(const Queue& queue, const char* name, Kernel kernel, const View& x, const View& sums,
                        const Operands&... operands) {
  assert(sums.elements() == x.cols);
  if (x.elements() == 0) return;
  const unsigned threads = threads_for(x.cols, 256);
  const unsigned blocks = as_dim(std::min(most_partials(x.cols), x.rows));
  auto* partials = reinterpret_cast<float*>(queue.scratch);
  launch(queue, {name, {as_dim(ceil_of(x.cols, threads)), blocks, 1}, {threads, 1, 1}}, kernel, operands...,
         partials);
  add_partials(queue, partials, blocks, sums);
}

}  // namespace

void column_sums(const Queue& queue, const View& x, const View& sums) {
  launch_column_sums(queue, "column_sums", sums_of_columns, x, sums, x);
}

void column_dots(const Queue& queue, const View& a, const View& b, const View& sums) {
  assert(a.rows == b.rows && a.cols == b.cols);
  launch_column_sums(queue, "column_dots", dots_of_columns, a, sums, a, b);
}

}  // namespace hexaplan::validator::cuda
