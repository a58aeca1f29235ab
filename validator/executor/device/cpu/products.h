#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/cpu/pieces.h"
#include "validator/executor/device/operation_forms.h"

// What is cut of matrix products and of attention: views of operands.

namespace hexaplan::validator {

/// c = op(a)·op(b), or c +=.
template <class T>
struct Product {
  kernels::Matrix<const T> a;
  bool transpose_a = false;
  kernels::Matrix<const T> b;
  bool transpose_b = false, accumulate = false;
  kernels::Matrix<T> c;
};

/// Rows and columns [first, first + count) of the result.
template <class T>
[[nodiscard]] Product<T> part_of(const Product<T>& p, std::int64_t first_row, std::int64_t rows,
                                 std::int64_t first_col, std::int64_t cols) {
  return {.a = p.transpose_a ? columns_of(p.a, first_row, rows) : rows_of(p.a, first_row, rows),
          .transpose_a = p.transpose_a,
          .b = p.transpose_b ? rows_of(p.b, first_col, cols) : columns_of(p.b, first_col, cols),
          .transpose_b = p.transpose_b,
          .accumulate = p.accumulate,
          .c = p.c.block(first_row, rows, first_col, cols)};
}

/// Appends a product in pieces, each of whose results is summed up by one thread. The longer side is halved
/// until there are enough of them, or they are so small that every piece would read its operands anew for
/// little work (Eigen, one core, AVX-512, 1,024 × 512 × 512: 144 GFLOP/s whole and cut in two, 133 in eight).
template <class T>
void append_pieces(const Product<T>& product, std::vector<Product<T>>& pieces) {
  constexpr std::int64_t kEnough = 64, kSmall = std::int64_t{512} * 512, kLine = 16;
  const auto halved = [](std::int64_t size) { return ((size + 1) / 2 + kLine - 1) / kLine * kLine; };
  const auto times = [](std::int64_t all, std::int64_t part) { return (all + part - 1) / part; };
  const std::int64_t all_rows = product.c.rows, all_cols = product.c.cols;
  if (all_rows == 0 || all_cols == 0) return;
  std::int64_t rows = all_rows, cols = all_cols;
  while (rows * cols > kSmall && times(all_rows, rows) * times(all_cols, cols) < kEnough) {
    std::int64_t& longer = rows >= cols ? rows : cols;
    longer = halved(longer);
  }
  for (std::int64_t r = 0; r < all_rows; r += rows) {
    for (std::int64_t c = 0; c < all_cols; c += cols)
      pieces.push_back(part_of(product, r, std::min(rows, all_rows - r), c, std::min(cols, all_cols - c)));
  }
}

/// Products of groups of rows, as Device::grouped_gemm has them: groups own consecutive rows of the weights,
/// or of their gradient.
template <class T>
[[nodiscard]] std::vector<Product<T>> products_of_groups(const Gemm& g, std::span<const std::int64_t> offsets,
                                                         const kernels::Matrix<const T>& a,
                                                         const kernels::Matrix<const T>& b,
                                                         const kernels::Matrix<T>& c) {
  const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
  std::vector<Product<T>> products;
  for (std::int64_t i = 0; i < groups; ++i) {
    const std::int64_t first = offsets[static_cast<std::size_t>(i)];
    const std::int64_t rows = offsets[static_cast<std::size_t>(i) + 1] - first;
    const auto part = [&](const auto& m) { return rows_of(m, i * (m.rows / groups), m.rows / groups); };
    products.push_back({.a = rows_of(a, first, rows),
                        .transpose_a = g.transpose_a,
                        .b = g.transpose_a ? rows_of(b, first, rows) : part(b),
                        .transpose_b = g.transpose_b,
                        .accumulate = g.accumulate,
                        .c = g.transpose_a ? part(c) : rows_of(c, first, rows)});
  }
  return products;
}

/// Some heads of one sequence of a block, as a block of their own.
struct HeadsOf {
  AttentionBlock block;
  std::int64_t first_query, first_key;     // rows
  std::int64_t first_head, first_kv_head;  // of the whole block

  /// What has queries as rows and `width` columns per head; nothing of nothing.
  template <class T>
  [[nodiscard]] kernels::Matrix<T> queries(const kernels::Matrix<T>& m, std::int64_t width) const {
    if (m.data == nullptr) return m;
    return m.block(first_query, block.seq_q, first_head * width, block.heads * width);
  }
  /// What has keys as rows.
  template <class T>
  [[nodiscard]] kernels::Matrix<T> keys(const kernels::Matrix<T>& m, std::int64_t width) const {
    return m.block(first_key, block.seq_kv, first_kv_head * width, block.kv_heads * width);
  }
};

/// `heads` heads from `head` on, which have `kv_heads` of the keys from `kv_head` on, of a sequence.
[[nodiscard]] inline HeadsOf heads_of(const AttentionBlock& block, std::int64_t sequence, std::int64_t head,
                                      std::int64_t heads, std::int64_t kv_head) {
  HeadsOf out{.block = block,
              .first_query = sequence * block.q_pitch,
              .first_key = sequence * block.kv_pitch,
              .first_head = head,
              .first_kv_head = kv_head};
  out.block.batch = 1;
  out.block.heads = heads;
  out.block.kv_heads = 1;
  out.block.q_pitch = block.seq_q;
  out.block.kv_pitch = block.seq_kv;
  out.block.dropout.first_sequence += sequence;
  out.block.dropout.first_head += head;
  for (View* const of_heads : {&out.block.slopes, &out.block.sinks})
    if (of_heads->data != nullptr) *of_heads = of_heads->slice(head, heads);
  return out;
}
[[nodiscard]] inline HeadsOf one_head(const AttentionBlock& block, std::int64_t sequence, std::int64_t head) {
  return heads_of(block, sequence, head, 1, head / (block.heads / block.kv_heads));
}
[[nodiscard]] inline HeadsOf one_key_head(const AttentionBlock& block, std::int64_t sequence,
                                          std::int64_t kv_head) {
  const std::int64_t group = block.heads / block.kv_heads;
  return heads_of(block, sequence, kv_head * group, group, kv_head);
}

}  // namespace hexaplan::validator
