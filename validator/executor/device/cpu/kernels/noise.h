#pragma once
#include <cstdint>

namespace hexaplan::validator::kernels {

/// Uniform over ±√3, so that the standard deviation is 1: a function of seed and place alone, the same on
/// every device. Mixes with the finaliser of SplitMix64 (doi:10.1145/2714064.2660195, fig. 17).
[[nodiscard]] constexpr double noise(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15 + place + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  constexpr double kRootOfThree = 1.7320508075688772, kOne = 1.0 / 9007199254740992.0;  // 2⁻⁵³
  return kRootOfThree * (2 * (static_cast<double>(z >> 11) * kOne) - 1);
}

}  // namespace hexaplan::validator::kernels
