#include "validator/executor/device/cpu/kernels/quantise.h"

#include <algorithm>
#include <cmath>

#include "costmodel/memory/quantised_blocks.h"

namespace hexaplan::validator::kernels {
namespace {

constexpr std::int64_t kNumbers = costmodel::kQuantisedBlock;

/// The largest magnitude of `count` numbers; one that is none stays.
template <class T>
T largest_of(const T* x, std::int64_t count) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const T magnitude = std::abs(x[i]);
    if (magnitude > largest || std::isnan(magnitude)) largest = magnitude;
  }
  return largest;
}

/// Codes of one block behind each other.
template <class T>
void encode(int bits, T scale, const T* x, std::int64_t count, std::uint8_t* codes) {
  const T half = bits == 8 ? 128 : 8;
  const auto code = [&](T value) {
    return static_cast<unsigned>(
        static_cast<int>(std::fmin(std::fmax(std::nearbyint(value * scale), -half), half - 1)));
  };
  if (bits == 8) {
    std::transform(x, x + count, codes, [&](T value) { return static_cast<std::uint8_t>(code(value)); });
    return;
  }
  for (std::int64_t i = 0; i < count; i += 2) {
    const unsigned high = i + 1 < count ? code(x[i + 1]) : 0;
    codes[i / 2] = static_cast<std::uint8_t>((code(x[i]) & 15U) | ((high & 15U) << 4U));
  }
}

/// The i-th code of a row, with its sign.
int code_at(int bits, const std::uint8_t* codes, std::int64_t i) {
  if (bits == 8) return codes[i] < 128 ? codes[i] : codes[i] - 256;
  const int code = i % 2 == 0 ? codes[i / 2] % 16 : codes[i / 2] / 16;
  return code < 8 ? code : code - 16;
}

}  // namespace

template <class T>
void quantise_blocks(int bits, Input<T> x, Matrix<std::uint8_t> codes, Matrix<T> scales) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t first = 0; first < x.cols; first += kNumbers) {
      const std::int64_t count = std::min(kNumbers, x.cols - first);
      const T largest = largest_of(x.row(r) + first, count), half = bits == 8 ? 128 : 8;
      const T scale = largest == 0 ? T{1} : half / largest;
      scales.row(r)[first / kNumbers] = 1 / scale;
      encode(bits, scale, x.row(r) + first, count, codes.row(r) + first * bits / 8);
    }
  }
}

template <class T>
void dequantise_blocks(int bits, Matrix<const std::uint8_t> codes, Input<T> scales, Matrix<T> out,
                       bool accumulate) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      const T value = static_cast<T>(code_at(bits, codes.row(r), c)) * scales.row(r)[c / kNumbers];
      out.row(r)[c] = accumulate ? out.row(r)[c] + value : value;
    }
  }
}

template <class T>
void dequantise_nf4(const Nf4Matrix& from, const T* scales, const T* scales_of_scales, T* out) {
  static const DynamicMap map = dynamic_map(true);
  const auto scale = [&](std::int64_t block) {
    if (from.scales_of_scales.data == nullptr) return static_cast<float>(scales[block]);
    const auto code = from.scales.as<const std::uint8_t>()[block];
    const float shifted =
        map.values[code] * static_cast<float>(scales_of_scales[block / costmodel::kNf4ScaleBlock]);
    return shifted + from.mean;
  };
  const auto* codes = from.codes.as<const std::uint8_t>();
  for (std::int64_t i = 0; i < from.numbers; ++i) out[i] = static_cast<T>(nf4_number(codes, i, scale));
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                                   \
  template void quantise_blocks<T>(int, Input<T>, Matrix<std::uint8_t>, Matrix<T>);               \
  template void dequantise_blocks<T>(int, Matrix<const std::uint8_t>, Input<T>, Matrix<T>, bool); \
  template void dequantise_nf4<T>(const Nf4Matrix&, const T*, const T*, T*)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace hexaplan::validator::kernels
