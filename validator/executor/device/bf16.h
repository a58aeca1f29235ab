#pragma once
#include <cstdint>
#include <cstring>

namespace hexaplan::validator {

/// The upper half of a float32, as `Element::Bf16` stores it.
struct Bf16 {
  std::uint16_t bits = 0;
};

[[nodiscard]] inline float to_float(Bf16 x) {
  const std::uint32_t bits = std::uint32_t{x.bits} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Rounds to the nearest, ties to even; not-a-numbers stay so.
[[nodiscard]] inline Bf16 to_bf16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16, none = bits >> 16 | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? none : rounded)};
}

}  // namespace hexaplan::validator
