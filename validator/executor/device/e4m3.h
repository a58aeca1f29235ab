#pragma once
#include <cstdint>
#include <cstring>

namespace hexaplan::validator {

/// Eight bits, as `Element::E4m3` stores them: sign, four bits of exponent (bias 7), three of mantissa. No
/// infinities; 0x7f and 0xff are not-a-numbers, the largest is 448 (0x7e), the smallest 2⁻⁹ (0x01).
/// [arXiv:2209.05433, table 1; ONNX calls it float8e4m3fn]
struct E4m3 {
  std::uint8_t bits = 0;
};
inline constexpr float kLargestE4m3 = 448;

/// From the bits of a float32 to the nearest, ties to even; what is larger becomes ±448, as frameworks and
/// `cvt.rn.satfinite.e4m3x2.f32` do; not-a-numbers stay so. Integers alone: host and kernels compile it.
[[nodiscard]] constexpr std::uint8_t e4m3_of_float_bits(std::uint32_t bits) {
  constexpr std::uint32_t kInfinity = 0x7f800000U, kLargest = 0x7eU, kNotANumber = 0x7fU;
  constexpr std::uint32_t kMantissa = 23, kKept = 3, kDropped = kMantissa - kKept;
  constexpr std::uint32_t kBiases = 127 - 7;           // of float32 against e4m3
  constexpr std::uint32_t kLeastNormal = kBiases + 1;  // its exponent as float32 has it: 2⁻⁶
  constexpr std::uint32_t kMostShift = kMantissa + 1;  // beyond it all is less than half of the smallest
  const std::uint32_t sign = bits >> 24 & 0x80U, magnitude = bits & 0x7fffffffU;
  if (magnitude > kInfinity) return static_cast<std::uint8_t>(sign | kNotANumber);
  const std::uint32_t exponent = magnitude >> kMantissa;
  std::uint32_t code = 0;
  if (exponent >= kLeastNormal) {
    const std::uint32_t half = (1U << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1U);
    code = ((magnitude + half) >> kDropped) - (kBiases << kKept);
    code = code < kLargest ? code : kLargest;
  } else {
    const std::uint32_t shift = kDropped + kLeastNormal - exponent;  // to units of 2⁻⁹
    if (shift <= kMostShift) {
      const std::uint32_t units = (magnitude & 0x7fffffU) | 0x800000U;
      code = (units + (1U << (shift - 1)) - 1 + (units >> shift & 1U)) >> shift;
    }
  }
  return static_cast<std::uint8_t>(sign | code);
}

/// The bits of the float32 that is the same number.
[[nodiscard]] constexpr std::uint32_t float_bits_of_e4m3(std::uint8_t e4m3) {
  const std::uint32_t sign = (e4m3 & 0x80U) << 24, magnitude = e4m3 & 0x7fU;
  if (magnitude == 0) return sign;
  if (magnitude == 0x7fU) return sign | 0x7fc00000U;
  std::uint32_t exponent = magnitude >> 3, mantissa = magnitude & 7U;
  if (exponent == 0) {  // below 2⁻⁶: without the leading one
    exponent = 1;
    for (; mantissa < 8; mantissa <<= 1) --exponent;
  }
  return sign | ((exponent + 127 - 7) << 23) | ((mantissa & 7U) << 20);
}

[[nodiscard]] inline E4m3 to_e4m3(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return {e4m3_of_float_bits(bits)};
}
[[nodiscard]] inline float to_float(E4m3 x) {
  const std::uint32_t bits = float_bits_of_e4m3(x.bits);
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace hexaplan::validator
