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

/// Columns count the pairs of one head, once for every `heads_of_part` heads, which share their angles: few
/// enough that short rows fill a GPU (one thread for all heads of a row took 130 us however few the rows
/// were, H200). Frequencies travel with the launch: 1 KiB of the 4 KiB that arguments may have (CUDA C++
/// Programming Guide, "Kernel parameters").
template <bool kBf16>
struct Rope {
  View x, positions;
  std::int64_t head_dim, first, pairs, heads_of_part;
  bool interleaved;
  float magnitude, direction;
  double frequencies[Rotation::kMostPairs];  // NOLINT(*-avoid-c-arrays): std::array's [] is the host's alone

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t column) const {
    View in = x;  // a changed member would copy all frequencies into every thread's memory
    if constexpr (kBf16) in.element = Element::Bf16;
    const auto of_head = static_cast<std::uint32_t>(pairs), at = static_cast<std::uint32_t>(column);
    const std::int64_t part = at / of_head, c = at % of_head;
    const double position = id_at(positions, r);
    CosineSine turn[kCount];
    for (int i = 0; i < kCount; ++i) {
      constexpr double kRadiansPerTurn = 6.283185307179586;
      // fp32 would lose the angle of far positions: only what is left of whole turns is rounded.
      const double turns = position * frequencies[c + i] / kRadiansPerTurn;
      turn[i] = of_turns(static_cast<float>(turns - rint(turns)));
    }
    const std::int64_t begin = part * heads_of_part * head_dim, behind = begin + heads_of_part * head_dim;
    for (std::int64_t head = begin + first; head < behind && head < x.cols; head += head_dim) {
      // Neighbouring pairs fill two packs one behind the other.
      const std::int64_t one = interleaved ? head + 2 * c : head + c;
      const std::int64_t other = interleaved ? one + kCount : one + pairs;
      Pack<kCount> a = load<kCount>(in, r, one), b = load<kCount>(in, r, other);
      for (int i = 0; i < kCount; ++i) {
        const float cosine = magnitude * turn[i].cosine, sine = magnitude * direction * turn[i].sine;
        float& left = interleaved ? neighbour(a, b, 2 * i) : a.at[i];
        float& right = interleaved ? neighbour(a, b, 2 * i + 1) : b.at[i];
        const float before = left;
        left = before * cosine - right * sine;
        right = right * cosine + before * sine;
      }
      store(in, r, one, a);
      store(in, r, other, b);
    }
  }

 private:
  /// Column i of two packs that lie one behind the other.
  template <int kCount>
  HEXAPLAN_DEVICE static float& neighbour(Pack<kCount>& a, Pack<kCount>& b, int i) {
    return i < kCount ? a.at[i] : b.at[i - kCount];
  }
};

template <bool kBf16>
void launch_rope(const Queue& queue, const View& x, const View& positions, const Rotation& rotation,
                 bool inverse, bool in_packs) {
  constexpr std::int64_t kHeadsOfPart = 4;
  Rope<kBf16> turn{.x = x,
                   .positions = positions,
                   .head_dim = rotation.head_dim,
                   .first = rotation.first,
                   .pairs = rotation.pairs,
                   .heads_of_part = kHeadsOfPart,
                   .interleaved = rotation.interleaved,
                   .magnitude = static_cast<float>(rotation.magnitude),
                   .direction = inverse ? -1.0F : 1.0F,
                   .frequencies = {}};
  std::copy(rotation.frequencies.begin(), rotation.frequencies.end(), turn.frequencies);
  const std::int64_t parts = ceil_of(x.cols / rotation.head_dim, kHeadsOfPart);
  launch_elementwise(queue, "rope", x.rows, parts * rotation.pairs, in_packs, turn);
}

}  // namespace

void rope(const Queue& queue, const View& x, const View& positions, const Rotation& rotation, bool inverse) {
  const std::int64_t head_dim = rotation.head_dim, pairs = rotation.pairs, first = rotation.first;
  assert(first + 2 * pairs <= head_dim && x.cols % head_dim == 0 && positions.elements() == x.rows);
  const bool in_packs = packed({x}) && pairs % kPack == 0 && head_dim % kPack == 0 && first % kPack == 0;
  if (in_packs && x.element == Element::Bf16)
    return launch_rope<true>(queue, x, positions, rotation, inverse, true);
  launch_rope<false>(queue, x, positions, rotation, inverse, in_packs);
}

}  // namespace hexaplan::validator::cuda
