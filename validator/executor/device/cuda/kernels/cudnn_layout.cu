#include <cassert>

#include "validator/executor/device/cuda/kernels/cudnn_layout.h"
#include "validator/executor/device/cuda/kernels/heads.h"
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

template <unsigned kLanes>
HEXAPLAN_KERNEL stand_in(View d_o, View delta, View out, QueryRows rows, std::int64_t heads, bool in_packs) {
  const std::int64_t width = out.cols / heads;
  for_heads<kLanes>(out.rows, heads, [&](const HeadOfRow& at) {
    const std::int64_t from = rows.at(at.row), first = at.head * width;
    float squares = 0;
    if (at.inside) {
      for_columns(width, in_packs, at.lane, kLanes, [&](auto wide, std::int64_t c) {
        constexpr int kCount = decltype(wide)::kValue;
        const Pack<kCount> x = load<kCount>(d_o, from, first + c);
        for (int i = 0; i < kCount; ++i) squares += x.at[i] * x.at[i];
      });
    }
    squares = over_lanes<kLanes>(squares);
    if (!at.inside) return;
    const float factor = squares > 0 ? load(delta, from, at.head) / squares : 0;
    for_columns(width, in_packs, at.lane, kLanes, [&](auto wide, std::int64_t c) {
      constexpr int kCount = decltype(wide)::kValue;
      Pack<kCount> x = load<kCount>(d_o, from, first + c);
      for (int i = 0; i < kCount; ++i) x.at[i] *= factor;
      store(out, at.row, first + c, x);
    });
  });
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
  const bool in_packs = packed({d_o, out}) && block.v_head_dim % kPack == 0;
  launch_by_heads(queue, "stand_in_output", out.rows * block.heads, block.v_head_dim, in_packs,
                  stand_in<kWarp / 2>, stand_in<kWarp>, d_o, delta, out,
                  QueryRows{block.seq_q, block.q_pitch}, block.heads, in_packs);
}

}  // namespace hexaplan::validator::cuda
