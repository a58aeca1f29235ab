#pragma once
#include <compare>
#include <cstdint>
#include <optional>

#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {

/// A column-major matrix as cuBLASLt describes one.
struct LtMatrix {
  Element element = Element::F32;
  std::int64_t rows = 0, cols = 0, leading = 0;
  std::uint32_t alignment = 16;  // bytes, a power of two, at most 256: of the address and of every column
  friend auto operator<=>(const LtMatrix&, const LtMatrix&) = default;  // NOLINT(modernize-use-nullptr)
};

/// result = op(first)·op(second) (+ result), all column-major: what decides the choice of an algorithm.
struct LtGemm {
  LtMatrix first, second, result;
  bool transpose_first = false, transpose_second = false, accumulate = false;
  bool fast_accumulation = false;                                   // E4m3 alone
  friend auto operator<=>(const LtGemm&, const LtGemm&) = default;  // NOLINT(modernize-use-nullptr)
};

/// A row-major matrix is its transpose to a column-major library: Cᵀ = op(B)ᵀ·op(A)ᵀ, so B comes first and
/// nothing moves. Nothing where cuBLASLt has no such product with fp32 sums: operands of two elements, a
/// result narrower than them, or E4m3 in another layout than "TN" (both operands along the sum, the only one
/// on sm_89, sm_90 and sm_12x), with a side that is no multiple of kE4m3Multiple, or not aligned to 16 bytes
/// (cuBLAS documentation, requirements of cublasLtMatmul for FP8 kernels). Preconditions of Device::gemm; no
/// side is 0.
[[nodiscard]] std::optional<LtGemm> to_cublaslt(const Gemm& g);

}  // namespace hexaplan::validator::cuda
