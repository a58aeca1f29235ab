#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "costmodel/parameters/trained_elements.h"
#include "validator/executor/device/dynamic_map.h"
#include "validator/executor/device/view.h"

namespace hexaplan::validator {

// Weights in 4 bits as bitsandbytes keeps them, bit for bit. A matrix is cut into blocks of 64 neighbours,
// whose largest magnitude is the block's scale; a number divided by it becomes the nearest of sixteen values,
// two codes to a byte, the first in its high half (arXiv:2305.14314 §3; bitsandbytes backends/default/ops.py,
// quantize_4bit). Quantised again, scales less their mean become 8-bit codes in blocks of 256
// (functional.py, quantize_4bit with compress_statistics). All arithmetic is that of float.

/// The sixteen values: quantiles of the normal distribution, −1, 0 and 1 among them (arXiv:2305.14314
/// appendix E; bitsandbytes functional.py, get_4bit_type("nf4")).
inline constexpr std::array<float, 16> kNf4Values{-1.0F,
                                                  -0.6961928009986877F,
                                                  -0.5250730514526367F,
                                                  -0.39491748809814453F,
                                                  -0.28444138169288635F,
                                                  -0.18477343022823334F,
                                                  -0.09105003625154495F,
                                                  0.0F,
                                                  0.07958029955625534F,
                                                  0.16093020141124725F,
                                                  0.24611230194568634F,
                                                  0.33791524171829224F,
                                                  0.44070982933044434F,
                                                  0.5626170039176941F,
                                                  0.7229568362236023F,
                                                  1.0F};

/// The code of the nearest value; the smaller one where two are as near.
[[nodiscard]] inline unsigned nf4_code(float x) {
  unsigned code = 0;
  while (code < 15 && x > (kNf4Values[code] + kNf4Values[code + 1]) / 2) ++code;
  return code;
}

/// A matrix of `numbers` in 4 bits on a device. Codes: 1 × ⌈numbers/2⌉ (U8). Scales, one per block: fp32 or
/// wider, or codes (U8) of `scales_of_scales`, one per 256 scales, on top of `mean`.
struct Nf4Matrix {
  std::int64_t numbers = 0;
  View codes, scales;
  View scales_of_scales;  // empty: scales are not quantised again
  float mean = 0;
};

/// The same on the host.
struct Nf4Numbers {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;              // of blocks, unless quantised again
  std::vector<std::uint8_t> scale_codes;  // then these,
  std::vector<float> scales_of_scales;    // these
  float mean = 0;                         // and their mean
};

/// Quantises numbers, rounded to float first.
[[nodiscard]] inline Nf4Numbers nf4_quantised(std::span<const double> x) {
  constexpr std::size_t kBlock = costmodel::kNf4Block;
  Nf4Numbers out;
  out.codes.assign((x.size() + 1) / 2, 0);
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const std::size_t last = std::min(first + kBlock, x.size());
    float largest = 0;
    for (std::size_t i = first; i < last; ++i)
      largest = std::max(largest, std::abs(static_cast<float>(x[i])));
    constexpr float kSmallest = 1e-38F;
    const float factor = 1 / std::max(largest, kSmallest);
    out.scales.push_back(largest);
    for (std::size_t i = first; i < last; ++i) {
      const unsigned code = nf4_code(std::clamp(static_cast<float>(x[i]) * factor, -1.0F, 1.0F));
      out.codes[i / 2] = static_cast<std::uint8_t>(out.codes[i / 2] | (i % 2 == 0 ? code << 4U : code));
    }
  }
  return out;
}

/// The mean of scales, as they are shifted by.
[[nodiscard]] inline float nf4_mean(std::span<const float> scales) {
  double sum = 0;
  for (const float scale : scales) sum += scale;
  return scales.empty() ? 0 : static_cast<float>(sum / static_cast<double>(scales.size()));
}

/// Quantises the scales again, less `mean`.
inline void nf4_quantise_scales(float mean, Nf4Numbers& numbers) {
  constexpr std::size_t kBlock = costmodel::kNf4ScaleBlock;
  static const DynamicMap map = dynamic_map(true);
  numbers.mean = mean;
  for (std::size_t first = 0; first < numbers.scales.size(); first += kBlock) {
    const auto block =
        std::span{numbers.scales}.subspan(first).first(std::min(kBlock, numbers.scales.size() - first));
    float largest = 0;
    for (const float scale : block) largest = std::max(largest, std::abs(scale - mean));
    numbers.scales_of_scales.push_back(largest);
    const float factor = 1 / largest;
    for (const float scale : block)
      numbers.scale_codes.push_back(
          static_cast<std::uint8_t>(largest > 0 ? map.nearest((scale - mean) * factor) : 0));
  }
  numbers.scales.clear();
}

/// Number `i` of a matrix whose scales are `scale(block)`.
template <class Scale>
[[nodiscard]] float nf4_number(const std::uint8_t* codes, std::int64_t i, const Scale& scale) {
  const unsigned pair = codes[i / 2];
  return kNf4Values[i % 2 == 0 ? pair >> 4U : pair & 15U] * scale(i / costmodel::kNf4Block);
}

/// The numbers again.
[[nodiscard]] inline std::vector<double> nf4_dequantised(const Nf4Numbers& from, std::int64_t count) {
  static const DynamicMap map = dynamic_map(true);
  const auto scale = [&](std::int64_t block) {
    const auto b = static_cast<std::size_t>(block);
    if (from.scale_codes.empty()) return from.scales[b];
    const float shifted =
        map.values[from.scale_codes[b]] * from.scales_of_scales[b / costmodel::kNf4ScaleBlock];
    return shifted + from.mean;
  };
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) out.push_back(nf4_number(from.codes.data(), i, scale));
  return out;
}

}  // namespace hexaplan::validator
