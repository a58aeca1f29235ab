#pragma once
#include <cstdint>
#include <cstring>

namespace hexaplan::validator {

/// An IEEE 754 binary16 number, as `Element::F16` stores it.
struct Fp16 {
  std::uint16_t bits = 0;
};

// On the bits of float32, so that kernels on GPUs call them as well.

/// Rounds to the nearest, ties to even; what is too large becomes infinite, not-a-numbers stay so.
[[nodiscard]] constexpr std::uint16_t fp16_of_float_bits(std::uint32_t bits) {
  const std::uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fffffffU;
  constexpr std::uint32_t kInfinity = 0x7f800000U, kSmallestNormal = 0x38800000U;  // 2⁻¹⁴
  if (magnitude > kInfinity) return static_cast<std::uint16_t>(sign | 0x7e00U);
  std::uint32_t mantissa = magnitude, dropped = 13;  // 23 − 10 bits of the mantissa
  if (magnitude >= kSmallestNormal) {
    mantissa -= 0x38000000U;  // the exponent's bias: 127 − 15
  } else {
    // Multiples of 2⁻²⁴: the hidden bit, moved by what the exponent lacks.
    const std::uint32_t exponent = magnitude >> 23;
    dropped = 126 - exponent;
    if (dropped > 24) return static_cast<std::uint16_t>(sign);
    mantissa = (magnitude & 0x7fffffU) | 0x800000U;
  }
  const std::uint32_t kept = mantissa >> dropped, rest = mantissa & ((1U << dropped) - 1);
  const std::uint32_t half = 1U << (dropped - 1);
  const std::uint32_t rounded = kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1 : 0);
  return static_cast<std::uint16_t>(sign | (rounded < 0x7c00U ? rounded : 0x7c00U));
}

[[nodiscard]] constexpr std::uint32_t float_bits_of_fp16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = bits >> 10 & 0x1fU;
  std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return sign | 0x7f800000U | mantissa << 13;
  if (exponent > 0) return sign | (exponent + 112) << 23 | mantissa << 13;
  if (mantissa == 0) return sign;
  std::uint32_t shifted = 113;  // a mantissa without hidden bit: 2⁻¹⁴ times a fraction
  while ((mantissa & 0x400U) == 0) {
    mantissa <<= 1;
    --shifted;
  }
  return sign | shifted << 23 | (mantissa & 0x3ffU) << 13;
}

[[nodiscard]] inline float to_float(Fp16 x) {
  const std::uint32_t bits = float_bits_of_fp16(x.bits);
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
[[nodiscard]] inline Fp16 to_fp16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return {fp16_of_float_bits(bits)};
}

}  // namespace hexaplan::validator
