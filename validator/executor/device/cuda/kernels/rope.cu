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

/// Columns are the first of every pair of one head; every head turns alike. Frequencies travel with the
/// launch: 1 KiB of the 4 KiB that arguments may have (CUDA C++ Programming Guide, "Kernel parameters").
struct Rope {
  View x, positions;
  std::int64_t head_dim, pairs;
  float magnitude, direction;
  double frequencies[Rotation::kMostPairs];  // NOLINT(*-avoid-c-arrays): std::array's [] is the host's alone

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const double position = id_at(positions, r);
    CosineSine turn[kCount];
    for (int i = 0; i < kCount; ++i) {
      constexpr double kRadiansPerTurn = 6.283185307179586;
      // fp32 would lose the angle of far positions: only what is left of whole turns is rounded.
      const double turns = position * frequencies[c + i] / kRadiansPerTurn;
      turn[i] = of_turns(static_cast<float>(turns - rint(turns)));
    }
    for (std::int64_t head = 0; head < x.cols; head += head_dim) {
      const std::int64_t other = head + pairs;
      const Pack<kCount> a = load<kCount>(x, r, head + c), b = load<kCount>(x, r, other + c);
      Pack<kCount> first, second;
      for (int i = 0; i < kCount; ++i) {
        const float cosine = magnitude * turn[i].cosine, sine = magnitude * direction * turn[i].sine;
        first.at[i] = a.at[i] * cosine - b.at[i] * sine;
        second.at[i] = b.at[i] * cosine + a.at[i] * sine;
      }
      store(x, r, head + c, first);
      store(x, r, other + c, second);
    }
  }
};

}  // namespace

void rope(const Queue& queue, const View& x, const View& positions, const Rotation& rotation, bool inverse) {
  const std::int64_t head_dim = rotation.head_dim, pairs = rotation.pairs;
  assert(2 * pairs <= head_dim && x.cols % head_dim == 0 && positions.elements() == x.rows);
  const bool in_packs = packed({x}) && pairs % kPack == 0 && head_dim % kPack == 0;
  Rope turn{x, positions, head_dim, pairs, static_cast<float>(rotation.magnitude), inverse ? -1.0F : 1.0F,
            {}};
  std::copy(rotation.frequencies.begin(), rotation.frequencies.end(), turn.frequencies);
  launch_elementwise(queue, "rope", x.rows, pairs, in_packs, turn);
}

}  // namespace hexaplan::validator::cuda
