#include "validator/executor/device/cpu/kernels/attention.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "validator/executor/device/cpu/kernels/exponentials.h"
#include "validator/executor/device/cpu/kernels/gemm.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {
namespace {

/// A tile's scores, probabilities or their gradients.
template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Matrix<T> view_of(Dense<T>& m) {
  return {m.data(), m.rows(), m.cols(), m.cols()};
}
template <class T>
Matrix<const T> view_of(const Dense<T>& m) {
  return {m.data(), m.rows(), m.cols(), m.cols()};
}

/// Queries whose scores exist at once: a thread has at most four arrays of kTileScores of them, or of eight
/// queries.
constexpr std::int64_t kTile = 64, kSmallestTile = 8, kTileScores = std::int64_t{1} << 20;
std::int64_t tile_queries(const AttentionBlock& block) {
  return std::clamp(kTileScores / std::max<std::int64_t>(1, block.seq_kv), kSmallestTile, kTile);
}

/// One tile of queries of one sequence and head, and the keys that any of them may see.
struct Tile {
  std::int64_t head, kv_head;
  std::int64_t first_query, queries;     // in the sequence
  std::int64_t first_key = 0, keys = 0;  // in the sequence
  std::int64_t query_row, key_row;       // of the first query and key, in q and k
};

struct KeyRange {
  std::int64_t first, last;  // [first, last)
};

/// Where a key of the query's position would stand among the block's keys.
std::int64_t key_place(const AttentionBlock& block, std::int64_t query) {
  return query + block.seq_kv - block.seq_q + block.distance;
}

/// Keys that `query` of a sequence may see.
KeyRange visible(const AttentionBlock& block, std::int64_t query) {
  const std::int64_t keys = block.seq_kv;
  if (!block.causal) return {0, keys};
  const std::int64_t position = key_place(block, query);
  const std::int64_t last = std::clamp<std::int64_t>(position + 1, 0, keys);
  const std::int64_t first =
      block.window > 0 ? std::clamp<std::int64_t>(position - block.window + 1, 0, last) : 0;
  return {first, last};
}

template <class Visitor>
// NOLINTNEXTLINE(readability-function-size): tiles have three axes
void for_each_tile(const AttentionBlock& block, Visitor visit) {
  const std::int64_t group = block.heads / block.kv_heads, tile = tile_queries(block);
  for (std::int64_t b = 0; b < block.batch; ++b) {
    for (std::int64_t h = 0; h < block.heads; ++h) {
      for (std::int64_t first = 0; first < block.seq_q; first += tile) {
        const std::int64_t count = std::min(tile, block.seq_q - first);
        const KeyRange low = visible(block, first), high = visible(block, first + count - 1);
        visit(Tile{.head = h,
                   .kv_head = h / group,
                   .first_query = first,
                   .queries = count,
                   .first_key = low.first,
                   .keys = std::max<std::int64_t>(0, high.last - low.first),
                   .query_row = b * block.q_pitch + first,
                   .key_row = b * block.kv_pitch + low.first});
      }
    }
  }
}

/// One number per head of a block, or nullptr.
template <class T>
const T* of_heads(const View& v) {
  return v.data != nullptr ? v.as<const T>() : nullptr;
}

/// Scaled scores, soft-capped where the block says so.
template <class T>
Dense<T> scores_of(const AttentionBlock& block, const Tile& tile, Input<T> q, Input<T> k) {
  const std::int64_t d = block.head_dim;
  Dense<T> scores(tile.queries, tile.keys);
  gemm<T>(q.block(tile.query_row, tile.queries, tile.head * d, d), false,
          k.block(tile.key_row, tile.keys, tile.kv_head * d, d), true, false, view_of(scores));
  scores *= static_cast<T>(block.scale);
  if (block.softcap > 0) {
    const auto cap = static_cast<T>(block.softcap);
    scores = cap * (scores.array() / cap).tanh();
  }
  return scores;
}

/// Adds what depends on distance, and hides what the mask hides behind −∞.
template <class T>
void mask(const AttentionBlock& block, const Tile& tile, Dense<T>& scores) {
  const T* const slopes = of_heads<T>(block.slopes);
  const T slope = slopes != nullptr ? slopes[tile.head] : T{0};
  for (std::int64_t i = 0; i < tile.queries; ++i) {
    const KeyRange seen = visible(block, tile.first_query + i);
    const std::int64_t place = key_place(block, tile.first_query + i);
    for (std::int64_t j = 0; j < tile.keys; ++j) {
      const std::int64_t key = tile.first_key + j;
      const bool hidden = key < seen.first || key >= seen.last;
      scores(i, j) =
          hidden ? -std::numeric_limits<T>::infinity() : scores(i, j) - slope * static_cast<T>(place - key);
    }
  }
}

/// exp of a row's scores less `by`.
template <class T, class Row>
void exponentiate(Row row, T by) {
  Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>> scores{row.data(), row.size()};
  exponentials_of(scores, by, scores);
}

/// Turns a query's scores into probabilities beside a further score, the sink; returns log Σ exp of them all,
/// −∞ where it sees no key and there is no sink.
template <class T, class Row>
T softmax(Row row, T sink) {
  const T largest = row.size() > 0 ? std::max(row.maxCoeff(), sink) : sink;
  if (std::isinf(largest)) {
    row.setZero();
    return largest;
  }
  exponentiate(row, largest);
  const T sum = row.sum() + std::exp(sink - largest);
  row /= sum;
  return largest + std::log(sum);
}

/// Leaves out what the block's dropout does.
template <class T>
void drop_out(const AttentionBlock& block, const Tile& tile, Dense<T>& p) {
  if (!block.dropout.drops()) return;
  const std::int64_t sequence = tile.query_row / block.q_pitch;
  for (std::int64_t i = 0; i < tile.queries; ++i) {
    for (std::int64_t j = 0; j < tile.keys; ++j) {
      const bool keeps = block.dropout.keeps(sequence, tile.first_query + i, tile.head, tile.first_key + j);
      p(i, j) = keeps ? p(i, j) * static_cast<T>(block.dropout.factor) : T{0};
    }
  }
}

/// Probabilities with the sums that the forward pass kept.
template <class T>
void softmax_again(const Tile& tile, Input<T> lse, Dense<T>& p) {
  for (std::int64_t i = 0; i < tile.queries; ++i) {
    const T log_sum = lse.row(tile.query_row + i)[tile.head];
    if (std::isinf(log_sum)) {
      p.row(i).setZero();
    } else {
      exponentiate(p.row(i), log_sum);
    }
  }
}

}  // namespace

template <class T>
void attention_forward(const AttentionBlock& block, Input<T> q, Input<T> k, Input<T> v, Matrix<T> o,
                       Matrix<T> lse) {
  const std::int64_t d_v = block.v_head_dim;
  const T* const sinks = of_heads<T>(block.sinks);
  for_each_tile(block, [&](const Tile& tile) {
    const T sink = sinks != nullptr ? sinks[tile.head] : -std::numeric_limits<T>::infinity();
    Dense<T> p = scores_of<T>(block, tile, q, k);
    mask(block, tile, p);
    for (std::int64_t i = 0; i < tile.queries; ++i)
      lse.row(tile.query_row + i)[tile.head] = softmax<T>(p.row(i), sink);
    drop_out(block, tile, p);
    gemm<T>(view_of(p), false, v.block(tile.key_row, tile.keys, tile.kv_head * d_v, d_v), false, false,
            o.block(tile.query_row, tile.queries, tile.head * d_v, d_v));
  });
}

template <class T>
void attention_merge(Matrix<T> o, Matrix<T> lse, Input<T> other, Input<T> other_lse) {
  const std::int64_t d = o.cols / lse.cols;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    for (std::int64_t h = 0; h < lse.cols; ++h) {
      const T mine = lse.row(r)[h], theirs = other_lse.row(r)[h];
      if (std::isinf(theirs)) continue;
      const T largest = std::max(mine, theirs);
      const T both = largest + std::log(std::exp(mine - largest) + std::exp(theirs - largest));
      const T keep = std::exp(mine - both), add = std::exp(theirs - both);
      T* out = o.row(r) + h * d;
      const T* in = other.row(r) + h * d;
      for (std::int64_t c = 0; c < d; ++c) out[c] = keep * out[c] + add * in[c];
      lse.row(r)[h] = both;
    }
  }
}

template <class T>
void attention_delta(Input<T> o, Input<T> d_o, Matrix<T> delta) {
  const std::int64_t d = o.cols / delta.cols;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    for (std::int64_t h = 0; h < delta.cols; ++h) {
      T sum = 0;
      for (std::int64_t c = h * d; c < (h + 1) * d; ++c) sum += o.row(r)[c] * d_o.row(r)[c];
      delta.row(r)[h] = sum;
    }
  }
}

template <class T>
void attention_backward(const AttentionBlock& block, Input<T> q, Input<T> k, Input<T> v, Input<T> d_o,
                        Input<T> lse, Input<T> delta, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  const std::int64_t d = block.head_dim, d_v = block.v_head_dim;
  for_each_tile(block, [&](const Tile& tile) {
    if (tile.keys == 0) return;
    const Input<T> queries = q.block(tile.query_row, tile.queries, tile.head * d, d);
    const Input<T> key_rows = k.block(tile.key_row, tile.keys, tile.kv_head * d, d);
    const Input<T> values = v.block(tile.key_row, tile.keys, tile.kv_head * d_v, d_v);
    const Input<T> d_out = d_o.block(tile.query_row, tile.queries, tile.head * d_v, d_v);
    const Dense<T> scores = scores_of<T>(block, tile, q, k);
    Dense<T> p = scores;
    mask(block, tile, p);
    softmax_again<T>(tile, lse, p);
    Dense<T> dropped;
    if (block.dropout.drops()) drop_out(block, tile, dropped = p);
    const Dense<T>& kept = block.dropout.drops() ? dropped : p;
    gemm<T>(view_of(kept), true, d_out, false, true,
            dv.block(tile.key_row, tile.keys, tile.kv_head * d_v, d_v));
    Dense<T> ds(tile.queries, tile.keys);
    gemm<T>(d_out, false, values, true, false, view_of(ds));
    drop_out(block, tile, ds);
    for (std::int64_t i = 0; i < tile.queries; ++i) {
      ds.row(i) = p.row(i).array() * (ds.row(i).array() - delta.row(tile.query_row + i)[tile.head]);
    }
    if (block.softcap > 0) ds.array() *= 1 - (scores.array() / static_cast<T>(block.softcap)).square();
    ds *= static_cast<T>(block.scale);
    gemm<T>(view_of(ds), false, key_rows, false, true,
            dq.block(tile.query_row, tile.queries, tile.head * d, d));
    gemm<T>(view_of(ds), true, queries, false, true, dk.block(tile.key_row, tile.keys, tile.kv_head * d, d));
  });
}

namespace {

/// Calls visit(query, its row, its columns' beginning, head) for every row of stored scores.
template <class Visitor>
void for_each_row_of_scores(const AttentionBlock& block, const Visitor& visit) {
  for (std::int64_t r = 0; r < block.batch * block.q_pitch; ++r) {
    for (std::int64_t h = 0; h < block.heads; ++h) visit(r % block.q_pitch, r, h * block.seq_kv, h);
  }
}

template <class T>
using Row = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;

/// Of a score by its product, where a soft cap made `capped` of it.
template <class T>
T slope_of(const AttentionBlock& block, T capped) {
  const T share = capped / static_cast<T>(block.softcap);
  return static_cast<T>(block.scale) * (1 - share * share);
}

}  // namespace

template <class T>
void score_softmax(const AttentionBlock& block, Matrix<T> scores, Matrix<T> capped) {
  const T* const slopes = of_heads<T>(block.slopes);
  const auto cap = static_cast<T>(block.softcap);
  for_each_row_of_scores(block, [&](std::int64_t query, std::int64_t r, std::int64_t column, std::int64_t h) {
    Row<T> row{scores.row(r) + column, block.seq_kv};
    row *= static_cast<T>(block.scale);
    if (cap > 0) {
      row = cap * (row / cap).tanh();
      Row<T>{capped.row(r) + column, block.seq_kv} = row;
    }
    const KeyRange seen = visible(block, query);
    const std::int64_t place = key_place(block, query);
    for (std::int64_t key = 0; key < block.seq_kv; ++key) {
      const bool hidden = key < seen.first || key >= seen.last;
      const T slope = slopes != nullptr ? slopes[h] : T{0};
      row(key) =
          hidden ? -std::numeric_limits<T>::infinity() : row(key) - slope * static_cast<T>(place - key);
    }
    softmax<T>(Eigen::Ref<Eigen::Matrix<T, 1, Eigen::Dynamic>>{row.matrix()},
               -std::numeric_limits<T>::infinity());
  });
}

template <class T>
void score_softmax_backward(const AttentionBlock& block, Input<T> p, Input<T> capped, Input<T> d_p,
                            Matrix<T> d_scores) {
  for_each_row_of_scores(
      block, [&](std::int64_t /*query*/, std::int64_t r, std::int64_t column, std::int64_t /*head*/) {
        const T *probabilities = p.row(r) + column, *gradients = d_p.row(r) + column;
        T delta = 0;
        for (std::int64_t key = 0; key < block.seq_kv; ++key) delta += probabilities[key] * gradients[key];
        for (std::int64_t key = 0; key < block.seq_kv; ++key) {
          const T slope = block.softcap > 0 ? slope_of<T>(block, capped.row(r)[column + key])
                                            : static_cast<T>(block.scale);
          d_scores.row(r)[column + key] = slope * probabilities[key] * (gradients[key] - delta);
        }
      });
}

template <class T>
void sink_gradient(const T* sinks, Input<T> lse, Input<T> delta, T* d_sinks) {
  for (std::int64_t r = 0; r < lse.rows; ++r) {
    for (std::int64_t h = 0; h < lse.cols; ++h)
      d_sinks[h] -= std::exp(sinks[h] - lse.row(r)[h]) * delta.row(r)[h];
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                                            \
  template void attention_forward<T>(const AttentionBlock&, Input<T>, Input<T>, Input<T>, Matrix<T>,       \
                                     Matrix<T>);                                                           \
  template void attention_merge<T>(Matrix<T>, Matrix<T>, Input<T>, Input<T>);                              \
  template void attention_delta<T>(Input<T>, Input<T>, Matrix<T>);                                         \
  template void score_softmax<T>(const AttentionBlock&, Matrix<T>, Matrix<T>);                             \
  template void score_softmax_backward<T>(const AttentionBlock&, Input<T>, Input<T>, Input<T>, Matrix<T>); \
  template void sink_gradient<T>(const T*, Input<T>, Input<T>, T*);                                        \
  template void attention_backward<T>(const AttentionBlock&, Input<T>, Input<T>, Input<T>, Input<T>,       \
                                      Input<T>, Input<T>, Matrix<T>, Matrix<T>, Matrix<T>)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
