#pragma once
#include <cstdint>
#include <string_view>

#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// Storage type of one element. Scale factors of block formats are counted where they are kept, not here.
enum class DType : std::uint8_t { Fp64, Fp32, Bf16, Fp16, Fp8, Fp4, Int64, Int32, Int8, Nf4, Bool };

[[nodiscard]] constexpr int bits_per_element(DType type) {
  switch (type) {
    case DType::Fp64:
    case DType::Int64:
      return 64;
    case DType::Fp32:
    case DType::Int32:
      return 32;
    case DType::Bf16:
    case DType::Fp16:
      return 16;
    case DType::Fp8:
    case DType::Int8:
    case DType::Bool:
      return 8;
    case DType::Fp4:
    case DType::Nf4:
      return 4;
  }
  return 0;
}

/// The same in bytes: a half for the 4-bit types.
[[nodiscard]] constexpr double bytes_per_element(DType type) {
  return bits_per_element(type) / 8.0;
}

[[nodiscard]] constexpr Bytes size_of(std::int64_t elements, DType type) {
  return Bytes{static_cast<double>(elements) * bytes_per_element(type)};
}

/// What the matrix multiplications of a step run in. Names as users write them: fp32 tf32 fp16 bf16 fp8
/// fp8-block mxfp8 nvfp4 (fp8 = per-tensor scaling, current or delayed).
enum class Precision : std::uint8_t { Fp32, Tf32, Fp16, Bf16, Fp8, Fp8Block, Mxfp8, Nvfp4 };
inline constexpr int kPrecisionCount = 8;

/// True for the 8-bit and 4-bit recipes, whose non-GEMM tensors stay in bf16.
[[nodiscard]] constexpr bool is_quantized(Precision p) {
  return p >= Precision::Fp8;
}

/// Storage type of activations and of the parameters' compute copy under a GEMM precision.
[[nodiscard]] constexpr DType activation_dtype(Precision p) {
  switch (p) {
    case Precision::Fp32:
    case Precision::Tf32:
      return DType::Fp32;
    case Precision::Fp16:
      return DType::Fp16;
    default:
      return DType::Bf16;
  }
}

}  // namespace hexaplan::costmodel
