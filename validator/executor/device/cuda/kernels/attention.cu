// Core attention in fp32, tile by tile (arXiv:2307.08691 algorithms 1 and 2). Backward runs twice over the
// tiles, once per query tile and once per key tile, so that every gradient has one owner and no atomics are
// needed.
#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::cuda {
namespace {

/// Threads of a block: kSide × kSide. A thread owns rows threadIdx.y + kSide·i and columns threadIdx.x +
/// kSide·j of every tile.
constexpr int kSide = 16;
[[maybe_unused]] constexpr int kThreads = kSide * kSide;  // by nvcc alone: the emulation has no launch bounds

/// Queries or keys of a tile, and the widest head that its sums hold: shared memory and registers stay within
/// what an sm_80 has (163 KB per block, CUDA C++ Programming Guide, table of compute capabilities).
template <int kRows, int kWidth>
struct Tiling {
  static constexpr int kTile = kRows;
  static constexpr int kOwn = kRows / kSide;       // rows of a thread
  static constexpr int kColumns = kWidth / kSide;  // columns of a thread in a tile of heads
  static constexpr int kScorePitch = kRows + 1;
};
using Narrow = Tiling<64, 128>;
using Wide = Tiling<32, 256>;

struct KeyRange {
  std::int64_t first, last;  // [first, last)
};
HEXAPLAN_DEVICE std::int64_t bounded(std::int64_t x, std::int64_t low, std::int64_t high) {
  return x < low ? low : x > high ? high : x;
}
/// Where a key of the position of query 0 would stand among the block's keys.
HEXAPLAN_DEVICE std::int64_t shift_of(const AttentionBlock& block) {
  return block.seq_kv - block.seq_q + block.distance;
}
HEXAPLAN_DEVICE KeyRange keys_of(const AttentionBlock& block, std::int64_t query) {
  if (!block.causal) return {0, block.seq_kv};
  const std::int64_t position = query + shift_of(block);
  const std::int64_t last = bounded(position + 1, 0, block.seq_kv);
  return {block.window > 0 ? bounded(position - block.window + 1, 0, last) : 0, last};
}
/// Queries that may see any of the keys [first, last).
HEXAPLAN_DEVICE KeyRange queries_of(const AttentionBlock& block, std::int64_t first, std::int64_t last) {
  if (!block.causal) return {0, block.seq_q};
  const std::int64_t shift = shift_of(block);
  return {bounded(first - shift, 0, block.seq_q),
          block.window > 0 ? bounded(last - 1 + block.window - shift, 0, block.seq_q) : block.seq_q};
}

/// `count` rows of a view from `row` on and `width` columns from `column` on, as fp32 in shared memory; rows
/// up to kTile are zeros.
template <class T>
HEXAPLAN_DEVICE void load_tile(const View& v, std::int64_t row, std::int64_t count, std::int64_t column,
                               std::int64_t width, bool in_packs, float* tile, std::int64_t pitch) {
  const unsigned thread = threadIdx.x + threadIdx.y * kSide;
  constexpr int kWarps = kSide * kSide / int{kWarp};
  for (int r = static_cast<int>(thread / kWarp); r < T::kTile; r += kWarps) {
    const std::byte* in = row_of(v, row + r) + column * size_of(v.element);
    for_columns(width, in_packs, thread % kWarp, kWarp, [&](auto wide, std::int64_t c) {
      constexpr int kCount = decltype(wide)::kValue;
      Pack<kCount> numbers{};
      if (r < count) numbers = load<kCount>(in, v.element, c);
      for (int i = 0; i < kCount; ++i) tile[r * pitch + c + i] = numbers.at[i];
    });
  }
}

/// dots[i][j] = Σ over `width` of row i of a times row j of b.
template <class T>
HEXAPLAN_DEVICE void dot_rows(const float* a, const float* b, std::int64_t pitch, std::int64_t width,
                              float (&dots)[T::kOwn][T::kOwn]) {
  const float *left = a + threadIdx.y * pitch, *right = b + threadIdx.x * pitch;
  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kOwn; ++j) dots[i][j] = 0;
  }
  for (std::int64_t c = 0; c < width; ++c) {
    float x[T::kOwn], y[T::kOwn];
    HEXAPLAN_UNROLL
    for (int i = 0; i < T::kOwn; ++i) {
      x[i] = left[i * kSide * pitch + c];
      y[i] = right[i * kSide * pitch + c];
    }
    HEXAPLAN_UNROLL
    for (int i = 0; i < T::kOwn; ++i) {
      HEXAPLAN_UNROLL
      for (int j = 0; j < T::kOwn; ++j) dots[i][j] += x[i] * y[j];
    }
  }
}

/// sums[i][j] += Σ over k < count of weight(i, k)·rows[k][column j], weight(i, k) = weights[i·outer +
/// k·inner].
template <class T>
HEXAPLAN_DEVICE void add_rows(const float* weights, int outer, int inner, const float* rows,
                              std::int64_t count, std::int64_t pitch, std::int64_t width,
                              float (&sums)[T::kOwn][T::kColumns]) {
  for (int k = 0; k < count; ++k) {
    float w[T::kOwn];
    HEXAPLAN_UNROLL
    for (int i = 0; i < T::kOwn; ++i)
      w[i] = weights[(static_cast<int>(threadIdx.y) + i * kSide) * outer + k * inner];
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kColumns; ++j) {
      const std::int64_t c = threadIdx.x + j * kSide;
      const float x = c < width ? rows[k * pitch + c] : 0;
      HEXAPLAN_UNROLL
      for (int i = 0; i < T::kOwn; ++i) sums[i][j] += w[i] * x;
    }
  }
}

template <class T>
HEXAPLAN_DEVICE void keep_scores(const float (&mine)[T::kOwn][T::kOwn], float* scores) {
  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kOwn; ++j)
      scores[(threadIdx.y + i * kSide) * T::kScorePitch + threadIdx.x + j * kSide] = mine[i][j];
  }
}

/// view[row + own rows][column + own columns] += sums.
template <class T>
HEXAPLAN_DEVICE void add_to(const View& v, std::int64_t row, std::int64_t count, std::int64_t column,
                            std::int64_t width, const float (&sums)[T::kOwn][T::kColumns]) {
  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kColumns; ++j) {
      const std::int64_t r = threadIdx.y + i * kSide, c = threadIdx.x + j * kSide;
      if (r < count && c < width) store(v, row + r, column + c, load(v, row + r, column + c) + sums[i][j]);
    }
  }
}

/// A score after scale and soft cap, and its slope by the scaled score.
struct Capped {
  float score, slope;
};
HEXAPLAN_DEVICE Capped capped(const AttentionBlock& block, float dot) {
  const float score = dot * static_cast<float>(block.scale);
  if (block.softcap <= 0) return {score, 1};
  const auto cap = static_cast<float>(block.softcap);
  const float t = tanhf(score / cap);
  return {cap * t, 1 - t * t};
}

/// Turns products of the thread's queries and keys of head `h` into scores, −∞ where the mask hides them.
template <class T>
HEXAPLAN_DEVICE void mask_scores(const AttentionBlock& block, std::int64_t h, std::int64_t first_query,
                                 std::int64_t first_key, float (&scores)[T::kOwn][T::kOwn]) {
  const float slope = block.slopes.data != nullptr ? vector_at(block.slopes, h) : 0;
  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    const std::int64_t query = first_query + threadIdx.y + i * kSide;
    const KeyRange seen = query < block.seq_q ? keys_of(block, query) : KeyRange{0, 0};
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kOwn; ++j) {
      const std::int64_t key = first_key + threadIdx.x + j * kSide;
      const bool visible = key >= seen.first && key < seen.last;
      const auto behind = static_cast<float>(query + shift_of(block) - key);
      scores[i][j] = visible ? capped(block, scores[i][j]).score - slope * behind : kNothing;
    }
  }
}

/// Leaves out what the block's dropout does of the thread's queries and keys of head `h`.
template <class T>
HEXAPLAN_DEVICE void drop_out(const AttentionBlock& block, std::int64_t b, std::int64_t h,
                              std::int64_t first_query, std::int64_t first_key,
                              float (&p)[T::kOwn][T::kOwn]) {
  if (!block.dropout.drops()) return;
  const auto factor = static_cast<float>(block.dropout.factor);
  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    const std::int64_t query = first_query + threadIdx.y + i * kSide;
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kOwn; ++j)
      p[i][j] = block.dropout.keeps(b, query, h, first_key + threadIdx.x + j * kSide) ? p[i][j] * factor : 0;
  }
}

/// Running softmax of a thread's rows, the same on the kSide threads that share them.
template <class T>
struct Softmax {
  float largest[T::kOwn], sum[T::kOwn];

  /// `sink`: a score that has no value, or −∞.
  HEXAPLAN_DEVICE explicit Softmax(float sink) {
    HEXAPLAN_UNROLL
    for (int i = 0; i < T::kOwn; ++i) {
      largest[i] = sink;
      sum[i] = sink > kNothing ? 1 : 0;
    }
  }
  /// Turns scores into weights relative to the new maximum, and scales what was summed so far to it.
  HEXAPLAN_DEVICE void take(float (&scores)[T::kOwn][T::kOwn], float (&out)[T::kOwn][T::kColumns]) {
    HEXAPLAN_UNROLL
    for (int i = 0; i < T::kOwn; ++i) {
      float now = largest[i];
      HEXAPLAN_UNROLL
      for (int j = 0; j < T::kOwn; ++j) now = fmaxf(now, scores[i][j]);
      now = over_lanes<kSide>(now, Max{});
      const bool any = now > kNothing;
      const float before = any ? expf(largest[i] - now) : 1;
      float added = 0;
      HEXAPLAN_UNROLL
      for (int j = 0; j < T::kOwn; ++j) {
        scores[i][j] = any ? expf(scores[i][j] - now) : 0;
        added += scores[i][j];
      }
      sum[i] = sum[i] * before + over_lanes<kSide>(added);
      largest[i] = now;
      HEXAPLAN_UNROLL
      for (int j = 0; j < T::kColumns; ++j) out[i][j] *= before;
    }
  }
};

struct ForwardViews {
  View q, k, v, o, lse;
};

template <class T>
HEXAPLAN_KERNEL_OF(kThreads)
forward_tiles(AttentionBlock block, ForwardViews in, std::int64_t pitch, bool in_packs) {
  auto* queries = shared_memory<float>();
  float *keys = queries + T::kTile * pitch,
        *scores = keys + T::kTile * pitch;  // values follow keys in `keys`
  const std::int64_t h = blockIdx.y, b = blockIdx.z, kv_head = h / (block.heads / block.kv_heads);
  const std::int64_t first = std::int64_t{blockIdx.x} * T::kTile, d = block.head_dim, d_v = block.v_head_dim;
  const std::int64_t count = bounded(block.seq_q - first, 0, T::kTile);
  load_tile<T>(in.q, b * block.q_pitch + first, count, h * d, d, in_packs, queries, pitch);

  Softmax<T> softmax{block.sinks.data != nullptr ? vector_at(block.sinks, h) : kNothing};
  float out[T::kOwn][T::kColumns] = {};
  const std::int64_t last_key = keys_of(block, first + count - 1).last;
  for (std::int64_t key = keys_of(block, first).first; key < last_key; key += T::kTile) {
    const std::int64_t row = b * block.kv_pitch + key, here = bounded(last_key - key, 0, T::kTile);
    sync_block();
    load_tile<T>(in.k, row, here, kv_head * d, d, in_packs, keys, pitch);
    sync_block();
    float mine[T::kOwn][T::kOwn];
    dot_rows<T>(queries, keys, pitch, d, mine);
    mask_scores<T>(block, h, first, key, mine);
    softmax.take(mine, out);
    drop_out<T>(block, b, h, first, key, mine);
    keep_scores<T>(mine, scores);
    sync_block();
    load_tile<T>(in.v, row, here, kv_head * d_v, d_v, in_packs, keys, pitch);
    sync_block();
    add_rows<T>(scores, T::kScorePitch, 1, keys, here, pitch, d_v, out);
  }

  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    const std::int64_t r = threadIdx.y + i * kSide, row = b * block.q_pitch + first + r;
    if (r >= count) continue;
    const bool any = softmax.sum[i] > 0;
    if (threadIdx.x == 0) store(in.lse, row, h, softmax.largest[i] + (any ? logf(softmax.sum[i]) : 0));
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kColumns; ++j) {
      const std::int64_t c = threadIdx.x + j * kSide;
      if (c < d_v) store(in.o, row, h * d_v + c, any ? out[i][j] / softmax.sum[i] : 0);
    }
  }
}

struct BackwardViews {
  View q, k, v, d_o, lse, delta, dq, dk, dv;
};

/// What a block holds in shared memory while it goes through tiles.
struct BackwardTiles {
  float *queries, *keys, *values, *d_out, *scores;
  std::int64_t pitch;
  template <class T>
  HEXAPLAN_DEVICE void place(T /*tiling*/, float* memory, std::int64_t row_pitch) {
    pitch = row_pitch;
    queries = memory;
    keys = queries + T::kTile * pitch;
    values = keys + T::kTile * pitch;
    d_out = values + T::kTile * pitch;
    scores = d_out + T::kTile * pitch;
  }
};

/// Probabilities of the tile after dropout, and the gradients of its products.
template <class T>
HEXAPLAN_DEVICE void score_gradients(const AttentionBlock& block, const BackwardViews& in,
                                     const BackwardTiles& tiles, std::int64_t b, std::int64_t h,
                                     std::int64_t first_query, std::int64_t first_key,
                                     float (&p)[T::kOwn][T::kOwn], float (&ds)[T::kOwn][T::kOwn]) {
  float slopes[T::kOwn][T::kOwn];
  dot_rows<T>(tiles.queries, tiles.keys, tiles.pitch, block.head_dim, p);
  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kOwn; ++j)
      slopes[i][j] = capped(block, p[i][j]).slope * static_cast<float>(block.scale);
  }
  mask_scores<T>(block, h, first_query, first_key, p);
  dot_rows<T>(tiles.d_out, tiles.values, tiles.pitch, block.v_head_dim, ds);
  drop_out<T>(block, b, h, first_query, first_key, ds);
  HEXAPLAN_UNROLL
  for (int i = 0; i < T::kOwn; ++i) {
    const std::int64_t query = first_query + threadIdx.y + i * kSide, row = b * block.q_pitch + query;
    const bool exists = query < block.seq_q;
    const float lse = exists ? load(in.lse, row, h) : 0, delta = exists ? load(in.delta, row, h) : 0;
    HEXAPLAN_UNROLL
    for (int j = 0; j < T::kOwn; ++j) {
      p[i][j] = lse == kNothing ? 0 : expf(p[i][j] - lse);
      ds[i][j] = p[i][j] * (ds[i][j] - delta) * slopes[i][j];
    }
  }
  drop_out<T>(block, b, h, first_query, first_key, p);
}

template <class T>
HEXAPLAN_KERNEL_OF(kThreads)
query_gradients(AttentionBlock block, BackwardViews in, std::int64_t pitch, bool in_packs) {
  BackwardTiles tiles;
  tiles.place(T{}, shared_memory<float>(), pitch);
  const std::int64_t h = blockIdx.y, b = blockIdx.z, kv_head = h / (block.heads / block.kv_heads);
  const std::int64_t d = block.head_dim, d_v = block.v_head_dim;
  const std::int64_t first = std::int64_t{blockIdx.x} * T::kTile, row = b * block.q_pitch + first;
  const std::int64_t count = bounded(block.seq_q - first, 0, T::kTile);
  load_tile<T>(in.q, row, count, h * d, d, in_packs, tiles.queries, pitch);
  load_tile<T>(in.d_o, row, count, h * d_v, d_v, in_packs, tiles.d_out, pitch);

  float dq[T::kOwn][T::kColumns] = {};
  const std::int64_t last_key = keys_of(block, first + count - 1).last;
  for (std::int64_t key = keys_of(block, first).first; key < last_key; key += T::kTile) {
    const std::int64_t key_row = b * block.kv_pitch + key, here = bounded(last_key - key, 0, T::kTile);
    sync_block();
    load_tile<T>(in.k, key_row, here, kv_head * d, d, in_packs, tiles.keys, pitch);
    load_tile<T>(in.v, key_row, here, kv_head * d_v, d_v, in_packs, tiles.values, pitch);
    sync_block();
    float p[T::kOwn][T::kOwn], ds[T::kOwn][T::kOwn];
    score_gradients<T>(block, in, tiles, b, h, first, key, p, ds);
    keep_scores<T>(ds, tiles.scores);
    sync_block();
    add_rows<T>(tiles.scores, T::kScorePitch, 1, tiles.keys, here, pitch, d, dq);
  }
  add_to<T>(in.dq, row, count, h * d, d, dq);
}

template <class T>
HEXAPLAN_KERNEL_OF(kThreads)
key_gradients(AttentionBlock block, BackwardViews in, std::int64_t pitch, bool in_packs) {
  BackwardTiles tiles;
  tiles.place(T{}, shared_memory<float>(), pitch);
  const std::int64_t kv_head = blockIdx.y, b = blockIdx.z, group = block.heads / block.kv_heads;
  const std::int64_t d = block.head_dim, d_v = block.v_head_dim;
  const std::int64_t first = std::int64_t{blockIdx.x} * T::kTile, row = b * block.kv_pitch + first;
  const std::int64_t count = bounded(block.seq_kv - first, 0, T::kTile);
  load_tile<T>(in.k, row, count, kv_head * d, d, in_packs, tiles.keys, pitch);
  load_tile<T>(in.v, row, count, kv_head * d_v, d_v, in_packs, tiles.values, pitch);

  float dk[T::kOwn][T::kColumns] = {}, dv[T::kOwn][T::kColumns] = {};
  const KeyRange seeing = queries_of(block, first, first + count);
  for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (std::int64_t query = seeing.first; query < seeing.last; query += T::kTile) {
      const std::int64_t query_row = b * block.q_pitch + query,
                         here = bounded(seeing.last - query, 0, T::kTile);
      sync_block();
      load_tile<T>(in.q, query_row, here, h * d, d, in_packs, tiles.queries, pitch);
      load_tile<T>(in.d_o, query_row, here, h * d_v, d_v, in_packs, tiles.d_out, pitch);
      sync_block();
      float p[T::kOwn][T::kOwn], ds[T::kOwn][T::kOwn];
      score_gradients<T>(block, in, tiles, b, h, query, first, p, ds);
      keep_scores<T>(p, tiles.scores);
      sync_block();
      add_rows<T>(tiles.scores, 1, T::kScorePitch, tiles.d_out, here, pitch, d_v, dv);
      sync_block();
      keep_scores<T>(ds, tiles.scores);
      sync_block();
      add_rows<T>(tiles.scores, 1, T::kScorePitch, tiles.queries, here, pitch, d, dk);
    }
  }
  add_to<T>(in.dk, row, count, kv_head * d, d, dk);
  add_to<T>(in.dv, row, count, kv_head * d_v, d_v, dv);
}

/// One more than the wider head: rows of a tile begin in different banks.
std::int64_t pitch_of(const AttentionBlock& block) {
  return std::max(block.head_dim, block.v_head_dim) + 1;
}

/// One block per tile of `rows` rows, per head and sequence; `tiles` of heads lie in shared memory.
template <class T>
Spread by_tiles(const char* name, const AttentionBlock& block, std::int64_t rows, std::int64_t heads,
                int tiles) {
  const auto floats =
      static_cast<std::size_t>(tiles * T::kTile * pitch_of(block) + T::kTile * T::kScorePitch);
  return {.name = name,
          .grid = {as_dim(ceil_of(rows, T::kTile)), as_dim(heads), as_dim(block.batch)},
          .block = {kSide, kSide, 1},
          .shared_bytes = floats * sizeof(float)};
}

/// Heads begin at whole packs.
bool heads_packed(const AttentionBlock& block, std::initializer_list<View> views) {
  return packed(views) && block.head_dim % kPack == 0 && block.v_head_dim % kPack == 0;
}

template <class T>
void launch_forward(const Queue& queue, const AttentionBlock& block, const ForwardViews& views) {
  launch(queue, by_tiles<T>("attention_forward", block, block.seq_q, block.heads, 2), forward_tiles<T>, block,
         views, pitch_of(block), heads_packed(block, {views.q, views.k, views.v}));
}

template <class T>
void launch_backward(const Queue& queue, const AttentionBlock& block, const BackwardViews& views) {
  const bool in_packs = heads_packed(block, {views.q, views.k, views.v, views.d_o});
  launch(queue, by_tiles<T>("attention_backward (queries)", block, block.seq_q, block.heads, 4),
         query_gradients<T>, block, views, pitch_of(block), in_packs);
  launch(queue, by_tiles<T>("attention_backward (keys)", block, block.seq_kv, block.kv_heads, 4),
         key_gradients<T>, block, views, pitch_of(block), in_packs);
}

/// Wide heads need the smaller tiles; short sequences would leave the larger ones empty.
bool narrow(const AttentionBlock& block) {
  assert(block.head_dim <= kLargestHead && block.v_head_dim <= kLargestHead);
  return std::max(block.head_dim, block.v_head_dim) <= Narrow::kColumns * kSide &&
         std::max(block.seq_q, block.seq_kv) > Wide::kTile;
}

}  // namespace

void attention_forward(const Queue& queue, const AttentionBlock& block, const View& q, const View& k,
                       const View& v, const View& o, const View& lse) {
  const ForwardViews views{q, k, v, o, lse};
  narrow(block) ? launch_forward<Narrow>(queue, block, views) : launch_forward<Wide>(queue, block, views);
}

void attention_backward(const Queue& queue, const AttentionBlock& block, const View& q, const View& k,
                        const View& v, const View& d_o, const View& lse, const View& delta, const View& dq,
                        const View& dk, const View& dv) {
  const View& sum = query_sum_of(block, dq);
  clear_overwritten(block, sum, dk, dv, [&](const View& rows) { fill(queue, rows, 0); });
  const BackwardViews views{q, k, v, d_o, lse, delta, sum, dk, dv};
  narrow(block) ? launch_backward<Narrow>(queue, block, views) : launch_backward<Wide>(queue, block, views);
  deliver_query_sum(block, dq, [&](const View& to, const View& from) { copy(queue, to, from); });
}

}  // namespace hexaplan::validator::cuda
