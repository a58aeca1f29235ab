#include <cassert>

#include "validator/executor/device/cuda/kernels/cudnn_layout.h"
#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {
namespace {

/// Where a block's queries lie: row r of all its rows, sequence after sequence.
struct QueryRows {
  std::int64_t seq, pitch;
  HEXAPLAN_DEVICE std::int64_t at(std::int64_t r) const { return r / seq * pitch + r % seq; }
};

/// Rows are queries of all sequences, columns are heads.
struct MoveStatistics {
  View by_row, packed;
  QueryRows rows;
  std::int64_t heads;
  bool pack;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t head) const {
    const std::int64_t sequence = r / rows.seq;
    const std::int64_t place = (sequence * heads + head) * rows.seq + r % rows.seq;
    if (pack) {
      store(packed, 0, place, load(by_row, rows.at(r), head));
    } else {
      store(by_row, rows.at(r), head, load(packed, 0, place));
    }
  }
};

void move_statistics(const Queue& queue, const AttentionBlock& block, const View& by_row, const View& packed,
                     bool pack) {
  assert(by_row.cols == block.heads && packed.elements() == block.batch * block.heads * block.seq_q);
  const MoveStatistics move{by_row, packed, {block.seq_q, block.q_pitch}, block.heads, pack};
  launch_elementwise(queue, pack ? "pack_statistics" : "unpack_statistics", block.batch * block.seq_q,
                     block.heads, false, move);
}

/// One warp per row and head.
HEXAPLAN_KERNEL stand_in(View d_o, View delta, View out, QueryRows rows, std::int64_t heads) {
  const std::int64_t width = out.cols / heads;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  for (std::int64_t i = first; i < out.rows * heads; i += std::int64_t{gridDim.x} * blockDim.y) {
    const std::int64_t r = i / heads, head = i % heads, from = rows.at(r);
    float squares = 0;
    for (std::int64_t c = threadIdx.x; c < width; c += kWarp) {
      const float x = load(d_o, from, head * width + c);
      squares += x * x;
    }
    squares = over_lanes(squares);
    const float factor = squares > 0 ? load(delta, from, head) / squares : 0;
    for (std::int64_t c = threadIdx.x; c < width; c += kWarp)
      store(out, r, head * width + c, load(d_o, from, head * width + c) * factor);
  }
}

}  // namespace

void pack_statistics(const Queue& queue, const AttentionBlock& block, const View& by_row,
                     const View& packed) {
  move_statistics(queue, block, by_row, packed, true);
}

void unpack_statistics(const Queue& queue, const AttentionBlock& block, const View& packed,
                       const View& by_row) {
  move_statistics(queue, block, by_row, packed, false);
}

void stand_in_output(const Queue& queue, const AttentionBlock& block, const View& d_o, const View& delta,
                     const View& out) {
  assert(out.rows == block.batch * block.seq_q && out.cols == block.heads * block.v_head_dim);
  launch(queue, by_warps("stand_in_output", out.rows * block.heads), stand_in, d_o, delta, out,
         QueryRows{block.seq_q, block.q_pitch}, block.heads);
}

}  // namespace hexaplan::validator::cuda
