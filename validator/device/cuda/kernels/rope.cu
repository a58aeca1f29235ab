#include <cassert>
#include <cmath>

#include "validator/device/cuda/kernels/spread.h"

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

/// Columns are the first halves of one head; every head turns alike.
struct Rope {
  View x, positions;
  std::int64_t head_dim;
  double log2_base;
  float direction;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const double position = id_at(positions, r);
    CosineSine turn[kCount];
    for (int i = 0; i < kCount; ++i) {
      constexpr double kRadiansPerTurn = 6.283185307179586;
      const double frequency =
          exp2(-2 * log2_base * static_cast<double>(c + i) / static_cast<double>(head_dim));
      // fp32 would lose the angle of far positions: only what is left of whole turns is rounded.
      const double turns = position * frequency / kRadiansPerTurn;
      turn[i] = of_turns(static_cast<float>(turns - rint(turns)));
    }
    for (std::int64_t head = 0; head < x.cols; head += head_dim) {
      const std::int64_t other = head + head_dim / 2;
      const Pack<kCount> a = load<kCount>(x, r, head + c), b = load<kCount>(x, r, other + c);
      Pack<kCount> first, second;
      for (int i = 0; i < kCount; ++i) {
        const float cosine = turn[i].cosine, sine = direction * turn[i].sine;
        first.at[i] = a.at[i] * cosine - b.at[i] * sine;
        second.at[i] = b.at[i] * cosine + a.at[i] * sine;
      }
      store(x, r, head + c, first);
      store(x, r, other + c, second);
    }
  }
};

}  // namespace

void rope(const Queue& queue, const View& x, const View& positions, std::int64_t head_dim, double base,
          bool inverse) {
  assert(head_dim % 2 == 0 && x.cols % head_dim == 0 && positions.elements() == x.rows);
  const bool in_packs = packed({x}) && head_dim / 2 % kPack == 0;
  launch_elementwise(queue, "rope", x.rows, head_dim / 2, in_packs,
                     Rope{x, positions, head_dim, std::log2(base), inverse ? -1.0F : 1.0F});
}

}  // namespace hexaplan::validator::cuda
