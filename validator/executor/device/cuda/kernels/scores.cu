// Attention that stores its scores: what happens to them between the products. Dropout.
#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::cuda {
namespace {

/// Keys [first, last) that `query` of a sequence may see, and where a key of its position would stand.
struct Seen {
  std::int64_t first, last, place;
};
HEXAPLAN_DEVICE Seen seen_by(const AttentionBlock& block, std::int64_t query) {
  const std::int64_t place = query + block.seq_kv - block.seq_q + block.distance;
  if (!block.causal) return {0, block.seq_kv, place};
  const std::int64_t end = place + 1 < block.seq_kv ? place + 1 : block.seq_kv;
  const std::int64_t last = end > 0 ? end : 0;
  const std::int64_t begin = block.window > 0 ? place - block.window + 1 : 0;
  return {begin > 0 ? (begin < last ? begin : last) : 0, last, place};
}

/// One block of threads per query and head: scaled, capped and masked once more in every pass, so that
/// nothing but the result is stored.
HEXAPLAN_KERNEL softmax_of_scores(AttentionBlock block, View scores, View capped) {
  const auto scale = static_cast<float>(block.scale), cap = static_cast<float>(block.softcap);
  for (std::int64_t i = blockIdx.x; i < scores.rows * block.heads; i += gridDim.x) {
    const std::int64_t r = i / block.heads, h = i % block.heads, column = h * block.seq_kv;
    const Seen seen = seen_by(block, r % block.seq_q);
    const float slope = block.slopes.data != nullptr ? vector_at(block.slopes, h) : 0;
    const auto score = [&](std::int64_t key) {
      float x = load(scores, r, column + key) * scale;
      if (cap > 0) x = cap * tanhf(x / cap);
      return x - slope * static_cast<float>(seen.place - key);
    };
    float largest = kNothing, sum = 0;
    for (std::int64_t key = seen.first + threadIdx.x; key < seen.last; key += blockDim.x)
      largest = fmaxf(largest, score(key));
    largest = over_block(largest, Max{});
    for (std::int64_t key = seen.first + threadIdx.x; key < seen.last; key += blockDim.x)
      sum += expf(score(key) - largest);
    sum = over_block(sum);
    for (std::int64_t key = threadIdx.x; key < block.seq_kv; key += blockDim.x) {
      const bool visible = key >= seen.first && key < seen.last;
      const float p = visible ? expf(score(key) - largest) / sum : 0;
      if (cap > 0) store(capped, r, column + key, cap * tanhf(load(scores, r, column + key) * scale / cap));
      store(scores, r, column + key, p);
    }
  }
}

HEXAPLAN_KERNEL softmax_gradients(AttentionBlock block, View p, View capped, View d_p, View d_scores) {
  const auto scale = static_cast<float>(block.scale), cap = static_cast<float>(block.softcap);
  for (std::int64_t i = blockIdx.x; i < p.rows * block.heads; i += gridDim.x) {
    const std::int64_t r = i / block.heads, column = i % block.heads * block.seq_kv;
    float delta = 0;
    for (std::int64_t key = threadIdx.x; key < block.seq_kv; key += blockDim.x)
      delta += load(p, r, column + key) * load(d_p, r, column + key);
    delta = over_block(delta);
    for (std::int64_t key = threadIdx.x; key < block.seq_kv; key += blockDim.x) {
      const std::int64_t c = column + key;
      const float share = cap > 0 ? load(capped, r, c) / cap : 0;
      store(d_scores, r, c, scale * (1 - share * share) * load(p, r, c) * (load(d_p, r, c) - delta));
    }
  }
}

Spread by_queries(const char* name, const AttentionBlock& block, const View& scores) {
  return by_rows(name, scores.rows * block.heads, block.seq_kv);
}

HEXAPLAN_DEVICE std::uint8_t* bytes_of_row(const View& v, std::int64_t r) {
  return reinterpret_cast<std::uint8_t*>(row_of(v, r));
}

/// A row's columns in quads of one head: each has its random words in one piece.
HEXAPLAN_KERNEL drop_numbers(DropoutForm form, View x, View out, View mask) {
  const std::int64_t width = form.width > 0 ? form.width : x.cols;
  const std::int64_t quads = (width + 3) / 4, heads = x.cols / width;
  const auto factor = static_cast<float>(form.factor);
  for (std::int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
    const std::int64_t row = form.first_row + r;
    const std::int64_t position =
        form.positions.data != nullptr ? id_at(form.positions, r) : row % form.sequence_rows;
    for (std::int64_t q = threadIdx.x; q < heads * quads; q += blockDim.x) {
      const std::int64_t head = q / quads, first = q % quads * 4;
      const RandomWords words = form.words(row / form.sequence_rows, position, head, q % quads);
      for (std::int64_t i = 0; i < 4 && first + i < width; ++i) {
        const std::int64_t c = head * width + first + i;
        const bool keeps = words.at[i] >= form.dropped;
        bytes_of_row(mask, r)[c] = keeps ? 1 : 0;
        store(out, r, c, keeps ? load(x, r, c) * factor : 0);
      }
    }
  }
}

HEXAPLAN_KERNEL drop_gradients(float factor, View d, View mask, View dx) {
  for (std::int64_t r = blockIdx.x; r < d.rows; r += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < d.cols; c += blockDim.x)
      store(dx, r, c, bytes_of_row(mask, r)[c] != 0 ? load(d, r, c) * factor : 0);
  }
}

}  // namespace

void score_softmax(const Queue& queue, const AttentionBlock& block, const View& scores, const View& capped) {
  assert(scores.cols == block.heads * block.seq_kv && block.q_pitch == block.seq_q);
  launch(queue, by_queries("score_softmax", block, scores), softmax_of_scores, block, scores, capped);
}

void score_softmax_backward(const Queue& queue, const AttentionBlock& block, const View& p,
                            const View& capped, const View& d_p, const View& d_scores) {
  assert(p.cols == block.heads * block.seq_kv && d_p.cols == p.cols);
  launch(queue, by_queries("score_softmax_backward", block, p), softmax_gradients, block, p, capped, d_p,
         d_scores);
}

void dropout(const Queue& queue, const DropoutForm& form, const View& x, const View& out, const View& mask) {
  assert(mask.element == Element::U8 && mask.cols == x.cols);
  launch(queue, by_rows("dropout", x.rows, x.cols), drop_numbers, form, x, out, mask);
}

void dropout_backward(const Queue& queue, const DropoutForm& form, const View& d, const View& mask,
                      const View& dx) {
  assert(mask.element == Element::U8 && mask.cols == d.cols);
  launch(queue, by_rows("dropout_backward", d.rows, d.cols), drop_gradients, static_cast<float>(form.factor),
         d, mask, dx);
}

}  // namespace hexaplan::validator::cuda
