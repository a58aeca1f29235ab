#include "validator/executor/device/cuda/lt_gemm.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace hexaplan::validator::cuda {
namespace {

/// Beyond it cuBLASLt chooses no better algorithm (its default for CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_…).
constexpr std::uint32_t kBestAlignment = 256;

std::uint32_t alignment_of(const View& v) {
  const auto address = reinterpret_cast<std::uintptr_t>(v.data);  // NOLINT(*-reinterpret-cast)
  const auto pitch = static_cast<std::uintptr_t>(v.stride) * bytes_of(v.element);
  const std::uintptr_t both = address | (v.rows > 1 ? pitch : 0) | kBestAlignment;
  return std::uint32_t{1} << std::countr_zero(both);
}

/// Rows become columns.
LtMatrix transposed(const View& v) {
  return {.element = v.element,
          .rows = v.cols,
          .cols = v.rows,
          .leading = std::max(v.stride, v.cols),
          .alignment = alignment_of(v)};
}

bool takes_e4m3(const Gemm& g) {
  if (g.transpose_a || !g.transpose_b) return false;
  constexpr std::uint32_t kLeastAlignment = 16;
  const View views[] = {g.a, g.b, g.c};
  return std::all_of(std::begin(views), std::end(views), [](const View& v) {
    return v.rows % kE4m3Multiple == 0 && v.cols % kE4m3Multiple == 0 && alignment_of(v) >= kLeastAlignment;
  });
}

}  // namespace

std::optional<LtGemm> to_cublaslt(const Gemm& g) {
  if (g.a.element != g.b.element) return std::nullopt;
  const bool eight_bits = g.a.element == Element::E4m3;
  const bool narrow = g.a.element == Element::Bf16 || eight_bits;
  const bool known = narrow || g.a.element == Element::F32;
  const bool result_fits = g.c.element == Element::F32 || (narrow && g.c.element == Element::Bf16);
  if (!known || !result_fits || (eight_bits && !takes_e4m3(g))) return std::nullopt;
  return LtGemm{.first = transposed(g.b),
                .second = transposed(g.a),
                .result = transposed(g.c),
                .transpose_first = g.transpose_b,
                .transpose_second = g.transpose_a,
                .accumulate = g.accumulate,
                .fast_accumulation = eight_bits && g.fast_accumulation};
}

}  // namespace hexaplan::validator::cuda
