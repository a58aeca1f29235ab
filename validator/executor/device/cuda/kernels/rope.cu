#include <algorithm>
#include <cassert>
#include <cmath>

#include "validator/executor/device/cuda/kernels/spread.h"

namespace hexaplan::validator::cuda {
namespace {

struct CosineSine {
  float cosine, sine;
};
/// Of a whole number of turns and this fraction, |turns| ≤ ½.
HEXAPLAN_DEVICE CosineSine of_turns(float turns) {
#ifdef __CUDA_ARCH__
  CosineSine out;
  sincospif(2 * turns, &out.sine, &out.cosine);
  return out;
#else
  constexpr float kTurn = 6.283185307179586F;
  return {cosf(kTurn * turns), sinf(kTurn * turns)};
#endif
}

/// Pairs of numbers that turn by their frequency times the row's position. Frequencies travel with the
/// launch: 1 KiB of the 4 KiB that arguments may have (CUDA C++ Programming Guide, "Kernel parameters").
struct Turn {
  View x, positions;
  std::int64_t head_dim, first, pairs, rows_of_block;
  float magnitude, direction;
  double frequencies[Rotation::kMostPairs];  // NOLINT(*-avoid-c-arrays): std::array's [] is the host's alone
};

HEXAPLAN_DEVICE CosineSine angle_of(const Turn& turn, std::int64_t r, std::int64_t pair) {
  constexpr double kRadiansPerTurn = 6.283185307179586;
  // fp32 would lose the angle of far positions: only what is left of whole turns is rounded.
  const double turns = id_at(turn.positions, r) * turn.frequencies[pair] / kRadiansPerTurn;
  const CosineSine angle = of_turns(static_cast<float>(turns - rint(turns)));
  return {turn.magnitude * angle.cosine, turn.magnitude * turn.direction * angle.sine};
}

/// Column i of two packs that lie one behind the other.
template <int kCount>
HEXAPLAN_DEVICE float& neighbour(Pack<kCount>& a, Pack<kCount>& b, int i) {
  return i < kCount ? a.at[i] : b.at[i - kCount];
}

/// Where kCount pairs of a head lie: in two packs, one behind the other where pairs are neighbours.
struct Place {
  std::int64_t row, one, other;
  std::uint32_t angles;  // of the block's
};
template <int kCount, bool kInterleaved>
HEXAPLAN_DEVICE Place place_of(const Turn& turn, std::uint32_t heads, std::uint32_t item) {
  const auto pairs = static_cast<std::uint32_t>(turn.pairs), of_head = pairs / kCount;
  const std::uint32_t c = item % of_head * kCount, head = item / of_head % heads,
                      row = item / of_head / heads;
  const std::int64_t begin = head * turn.head_dim + turn.first;
  const std::int64_t one = begin + (kInterleaved ? 2 * c : c);
  return {row, one, one + (kInterleaved ? kCount : turn.pairs), row * pairs + c};
}

/// All rows of a block, whose angles are there. Loads of several packs are under way at once.
template <int kCount, bool kBf16, bool kInterleaved>
HEXAPLAN_DEVICE void turn_rows(const Turn& turn, const View& x, const CosineSine* angles) {
  constexpr std::uint32_t kAtOnce = 4;
  const auto heads = static_cast<std::uint32_t>(x.cols / turn.head_dim);
  const std::uint32_t items =
      static_cast<std::uint32_t>(x.rows) * heads * static_cast<std::uint32_t>(turn.pairs / kCount);
  for (std::uint32_t begin = threadIdx.x; begin < items; begin += kAtOnce * blockDim.x) {
    Kept<kCount, kBf16> one[kAtOnce], other[kAtOnce];
    HEXAPLAN_UNROLL
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t item = begin + k * blockDim.x;
      if (item >= items) continue;
      const Place at = place_of<kCount, kInterleaved>(turn, heads, item);
      one[k] = keep<kCount, kBf16>(x, at.row, at.one);
      other[k] = keep<kCount, kBf16>(x, at.row, at.other);
    }
    HEXAPLAN_UNROLL
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t item = begin + k * blockDim.x;
      if (item >= items) continue;
      const Place at = place_of<kCount, kInterleaved>(turn, heads, item);
      Pack<kCount> a = numbers_of(one[k]), b = numbers_of(other[k]);
      for (int i = 0; i < kCount; ++i) {
        const CosineSine angle = angles[at.angles + i];
        float& left = kInterleaved ? neighbour(a, b, 2 * i) : a.at[i];
        float& right = kInterleaved ? neighbour(a, b, 2 * i + 1) : b.at[i];
        const float before = left;
        left = before * angle.cosine - right * angle.sine;
        right = right * angle.cosine + before * angle.sine;
      }
      store(x, at.row, at.one, a);
      store(x, at.row, at.other, b);
    }
  }
}

/// Every head of a row turns alike: a block computes the angles of its rows once.
template <bool kBf16, bool kInterleaved>
HEXAPLAN_KERNEL rope_rows(Turn turn, bool in_packs) {
  auto* const angles = shared_memory<CosineSine>();
  View x = turn.x;  // a changed member would copy all frequencies into every thread's memory
  if constexpr (kBf16) x.element = Element::Bf16;
  for (std::int64_t begin = blockIdx.x * turn.rows_of_block; begin < turn.x.rows;
       begin += gridDim.x * turn.rows_of_block) {
    x.data = row_of(turn.x, begin);
    x.rows = turn.x.rows - begin < turn.rows_of_block ? turn.x.rows - begin : turn.rows_of_block;
    for (std::int64_t i = threadIdx.x; i < x.rows * turn.pairs; i += blockDim.x)
      angles[i] = angle_of(turn, begin + i / turn.pairs, i % turn.pairs);
    sync_block();
    if (in_packs) {
      turn_rows<kPack, kBf16, kInterleaved>(turn, x, angles);
    } else {
      turn_rows<1, false, kInterleaved>(turn, x, angles);
    }
    sync_block();  // all have read the angles
  }
}

}  // namespace

void rope(const Queue& queue, const View& x, const View& positions, const Rotation& rotation, bool inverse) {
  const std::int64_t head_dim = rotation.head_dim, pairs = rotation.pairs, first = rotation.first;
  assert(first + 2 * pairs <= head_dim && x.cols % head_dim == 0 && positions.elements() == x.rows);
  if (pairs == 0) return;
  const bool in_packs = packed({x}) && pairs % kPack == 0 && head_dim % kPack == 0 && first % kPack == 0;
  constexpr std::int64_t kThreads = 256;
  Turn turn{.x = x,
            .positions = positions,
            .head_dim = head_dim,
            .first = first,
            .pairs = pairs,
            .rows_of_block = std::max<std::int64_t>(kThreads / pairs, 1),
            .magnitude = static_cast<float>(rotation.magnitude),
            .direction = inverse ? -1.0F : 1.0F,
            .frequencies = {}};
  std::copy(rotation.frequencies.begin(), rotation.frequencies.end(), turn.frequencies);
  const std::int64_t blocks = std::min(ceil_of(x.rows, turn.rows_of_block), kManyBlocks);
  const Spread spread{
      .name = "rope",
      .grid = {as_dim(blocks), 1, 1},
      .block = {as_dim(kThreads), 1, 1},
      .shared_bytes = static_cast<std::size_t>(turn.rows_of_block * pairs) * sizeof(CosineSine)};
  const bool bf16 = in_packs && x.element == Element::Bf16;
  const auto kernel = rotation.interleaved ? (bf16 ? rope_rows<true, true> : rope_rows<false, true>)
                                           : (bf16 ? rope_rows<true, false> : rope_rows<false, false>);
  launch(queue, spread, kernel, turn, in_packs);
}

}  // namespace hexaplan::validator::cuda
