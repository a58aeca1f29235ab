#pragma once
#include <cstdint>
#include <iterator>
#include <string_view>

#include "costmodel/units/enum_table.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// Storage type of one element. Scale factors of block formats are counted where they are kept, not here.
enum class DType : std::uint8_t { Fp64, Fp32, Bf16, Fp16, Fp8, Fp4, Int64, Int32, Int8, Nf4, Bool };

/// In the enumeration's order.
inline constexpr Named<DType> kDTypeNames[] = {
    {"fp64", DType::Fp64}, {"fp32", DType::Fp32}, {"bf16", DType::Bf16},   {"fp16", DType::Fp16},
    {"fp8", DType::Fp8},   {"fp4", DType::Fp4},   {"int64", DType::Int64}, {"int32", DType::Int32},
    {"int8", DType::Int8}, {"nf4", DType::Nf4},   {"bool", DType::Bool}};

[[nodiscard]] constexpr std::string_view name_of(DType type) {
  return kDTypeNames[static_cast<std::size_t>(type)].name;
}

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

/// What the matrix multiplications of a step run in (Fp8 = per-tensor scaling, current or delayed).
enum class Precision : std::uint8_t { Fp32, Tf32, Fp16, Bf16, Fp8, Fp8Block, Mxfp8, Nvfp4 };
inline constexpr int kPrecisionCount = 8;

/// As users write them, in the enumeration's order.
inline constexpr Named<Precision> kPrecisionNames[] = {
    {"fp32", Precision::Fp32},   {"tf32", Precision::Tf32},  {"fp16", Precision::Fp16},
    {"bf16", Precision::Bf16},   {"fp8", Precision::Fp8},    {"fp8-block", Precision::Fp8Block},
    {"mxfp8", Precision::Mxfp8}, {"nvfp4", Precision::Nvfp4}};
static_assert(std::size(kPrecisionNames) == kPrecisionCount);

[[nodiscard]] constexpr std::string_view name_of(Precision p) {
  return kPrecisionNames[static_cast<std::size_t>(p)].name;
}

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
