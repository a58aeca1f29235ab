// What goes with core attention on every path, cuDNN's too: joining blocks of keys, and delta.
#include <cassert>

#include "validator/executor/device/cuda/kernels/column_partials.h"
#include "validator/executor/device/cuda/kernels/heads.h"

namespace hexaplan::validator::cuda {
namespace {

/// Columns of one head, from 0.
HEXAPLAN_DEVICE std::byte* head_of(const View& v, std::int64_t r, std::int64_t first) {
  return row_of(v, r) + first * size_of(v.element);
}

HEXAPLAN_KERNEL merge_heads(View o, View lse, View piece_o, View piece_lse, bool in_packs) {
  const std::int64_t d = o.cols / lse.cols;
  for_heads<kWarp>(o.rows, lse.cols, [&](const HeadOfRow& at) {
    const std::int64_t r = at.row, h = at.head;
    const float mine = load(lse, r, h), theirs = load(piece_lse, r, h);
    if (theirs == kNothing) return;
    const float largest = fmaxf(mine, theirs);
    const float both = largest + logf(expf(mine - largest) + expf(theirs - largest));
    const float keep = expf(mine - both), add = expf(theirs - both);
    std::byte* out = head_of(o, r, h * d);
    const std::byte* in = head_of(piece_o, r, h * d);
    for_columns(d, in_packs, at.lane, kWarp, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      Pack<kCount> sum = load<kCount>(out, o.element, c);
      const Pack<kCount> piece = load<kCount>(in, piece_o.element, c);
      for (int i = 0; i < kCount; ++i) {
        // What was never written may be anything: a row without keys so far has no output.
        sum.at[i] = (keep > 0 ? keep * sum.at[i] : 0) + add * piece.at[i];
      }
      store(out, o.element, c, sum);
    });
    sync_warp();  // all lanes have read lse
    if (at.lane == 0) store(lse, r, h, both);
  });
}

template <unsigned kLanes>
HEXAPLAN_KERNEL deltas_of_heads(View d_o, View o, View delta, bool in_packs) {
  const std::int64_t d = o.cols / delta.cols;
  for_heads<kLanes>(o.rows, delta.cols, [&](const HeadOfRow& at) {
    float sum = 0;
    if (at.inside) {
      const std::byte *gradient = head_of(d_o, at.row, at.head * d),
                      *output = head_of(o, at.row, at.head * d);
      for_columns(d, in_packs, at.lane, kLanes, [&](auto width, std::int64_t c) {
        constexpr int kCount = decltype(width)::kValue;
        const Pack<kCount> a = load<kCount>(gradient, d_o.element, c), b = load<kCount>(output, o.element, c);
        for (int i = 0; i < kCount; ++i) sum += a.at[i] * b.at[i];
      });
    }
    sum = over_lanes<kLanes>(sum);
    if (at.lane == 0 && at.inside) store(delta, at.row, at.head, sum);
  });
}

/// Row b of `partials`: what rows b, b + gridDim.y, … take off the gradient of each head's sink.
HEXAPLAN_KERNEL shares_of_sinks(View sinks, View lse, View delta, float* partials) {
  const std::int64_t h = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (h >= lse.cols) return;
  const float sink = vector_at(sinks, h);
  float sum = 0;
  for (std::int64_t r = blockIdx.y; r < lse.rows; r += gridDim.y)
    sum -= expf(sink - load(lse, r, h)) * load(delta, r, h);
  partials[blockIdx.y * lse.cols + h] = sum;
}

}  // namespace

void attention_merge(const Queue& queue, const View& o, const View& lse, const View& piece_o,
                     const View& piece_lse, [[maybe_unused]] std::int64_t heads) {
  assert(lse.cols == heads && piece_lse.cols == heads && o.cols % heads == 0);
  const bool in_packs = packed({o, piece_o}) && o.cols / heads % kPack == 0;
  launch(queue, by_warps("attention_merge", o.rows * heads), merge_heads, o, lse, piece_o, piece_lse,
         in_packs);
}

void attention_delta(const Queue& queue, const View& d_o, const View& o, const View& delta) {
  assert(d_o.rows == o.rows && d_o.cols == o.cols && o.cols % delta.cols == 0);
  const bool in_packs = packed({d_o, o}) && o.cols / delta.cols % kPack == 0;
  launch_by_heads(queue, "attention_delta", o.rows * delta.cols, o.cols / delta.cols, in_packs,
                  deltas_of_heads<kWarp / 2>, deltas_of_heads<kWarp>, d_o, o, delta, in_packs);
}

void sink_gradient(const Queue& queue, const View& sinks, const View& lse, const View& delta,
                   const View& d_sinks) {
  assert(sinks.elements() == lse.cols && d_sinks.elements() == lse.cols && delta.cols == lse.cols);
  if (lse.elements() == 0) return;
  const unsigned threads = threads_for(lse.cols, 256);
  const unsigned blocks = as_dim(std::min(most_partials(lse.cols), lse.rows));
  auto* partials = reinterpret_cast<float*>(queue.scratch);
  launch(queue, {"sink_gradient", {as_dim(ceil_of(lse.cols, threads)), blocks, 1}, {threads, 1, 1}},
         shares_of_sinks, sinks, lse, delta, partials);
  add_partials(queue, partials, blocks, d_sinks);
}

}  // namespace hexaplan::validator::cuda
