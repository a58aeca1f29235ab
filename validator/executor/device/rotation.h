#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace hexaplan::validator {

/// What rotary positions turn in every head, and how fast. Columns i and i + pairs of a head turn together
/// (the half-split convention of Hugging Face); columns from 2·pairs on stay as they are.
struct Rotation {
  /// Of heads of 256: the widest that attention is executed for.
  static constexpr std::size_t kMostPairs = 128;

  std::int64_t head_dim = 0;
  std::int64_t pairs = 0;
  double magnitude = 1;                          // of cosine and sine
  std::array<double, kMostPairs> frequencies{};  // radians per position
};

}  // namespace hexaplan::validator
