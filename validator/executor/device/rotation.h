#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace hexaplan::validator {

/// What rotary positions turn in every head, and how fast: the columns [first, first + 2·pairs). Columns
/// first + i and first + i + pairs turn together (the half-split convention of Hugging Face), or first + 2i
/// and first + 2i + 1 where `interleaved` (arXiv:2104.09864 eq. 34). The others stay as they are.
struct Rotation {
  /// Of heads of 256: the widest that attention is executed for.
  static constexpr std::size_t kMostPairs = 128;

  std::int64_t head_dim = 0;
  std::int64_t pairs = 0;
  std::int64_t first = 0;  // behind the columns without a position (MLA: qk_nope_dim)
  bool interleaved = false;
  double magnitude = 1;                          // of cosine and sine
  std::array<double, kMostPairs> frequencies{};  // radians per position
};

}  // namespace hexaplan::validator
