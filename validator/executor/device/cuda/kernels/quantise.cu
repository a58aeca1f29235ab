// Blocks of numbers in 8 and 4 bits, as ZeRO++ sends them and as bitsandbytes keeps frozen weights.
#include <algorithm>
#include <cassert>

#include "costmodel/memory/quantised_blocks.h"
#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/nf4.h"

namespace hexaplan::validator::cuda {
namespace {

constexpr std::int64_t kNumbers = costmodel::kQuantisedBlock;

/// Of two magnitudes; one that is no number wins.
struct LargestMagnitude {
  HEXAPLAN_DEVICE float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

HEXAPLAN_DEVICE std::uint8_t* codes_of_row(const View& codes, std::int64_t r) {
  return reinterpret_cast<std::uint8_t*>(row_of(codes, r));
}

struct Encoding {
  float scale, half;  // half of the codes' range

  HEXAPLAN_DEVICE unsigned operator()(float x) const {
    return static_cast<unsigned>(static_cast<int>(fminf(fmaxf(rintf(x * scale), -half), half - 1)));
  }
};

/// One block of threads per block of numbers.
HEXAPLAN_KERNEL quantise_numbers(int bits, View x, View codes, View scales) {
  const std::int64_t blocks = (x.cols + kNumbers - 1) / kNumbers;
  const float half = bits == 8 ? 128.0F : 8.0F;
  for (std::int64_t i = blockIdx.x; i < x.rows * blocks; i += gridDim.x) {
    const std::int64_t r = i / blocks, first = i % blocks * kNumbers;
    const std::int64_t last = first + kNumbers < x.cols ? first + kNumbers : x.cols;
    float largest = 0;
    for (std::int64_t c = first + threadIdx.x; c < last; c += blockDim.x)
      largest = LargestMagnitude{}(fabsf(load(x, r, c)), largest);
    largest = over_block(largest, LargestMagnitude{});
    const Encoding code{largest == 0 ? 1.0F : half / largest, half};
    if (threadIdx.x == 0) store(scales, r, i % blocks, 1 / code.scale);
    std::uint8_t* to = codes_of_row(codes, r);
    if (bits == 8) {
      for (std::int64_t c = first + threadIdx.x; c < last; c += blockDim.x)
        to[c] = static_cast<std::uint8_t>(code(load(x, r, c)));
    } else {
      for (std::int64_t c = first + 2 * threadIdx.x; c < last; c += 2 * blockDim.x) {
        const unsigned high = c + 1 < last ? code(load(x, r, c + 1)) : 0;
        to[c / 2] = static_cast<std::uint8_t>((code(load(x, r, c)) & 15U) | ((high & 15U) << 4U));
      }
    }
  }
}

/// A number of `bits` with its sign.
HEXAPLAN_DEVICE float number_of(unsigned code, unsigned half) {
  return static_cast<float>(static_cast<int>(code)) - (code < half ? 0.0F : 2.0F * static_cast<float>(half));
}

HEXAPLAN_KERNEL dequantise_numbers(int bits, View codes, View scales, View out, bool accumulate) {
  for (std::int64_t r = blockIdx.x; r < out.rows; r += gridDim.x) {
    const std::uint8_t* from = codes_of_row(codes, r);
    for (std::int64_t c = threadIdx.x; c < out.cols; c += blockDim.x) {
      const unsigned code = bits == 8    ? from[c]
                            : c % 2 == 0 ? from[c / 2] & 15U
                                         : static_cast<unsigned>(from[c / 2]) >> 4U;
      const float x = number_of(code, bits == 8 ? 128 : 8) * load(scales, r, c / kNumbers);
      store(out, r, c, accumulate ? load(out, r, c) + x : x);
    }
  }
}

/// Numbers of an Nf4Matrix, with the tables where kernels can read them.
struct FromNf4 {
  float values[16];
  float scale_values[256];
  View codes, scales, scales_of_scales, out;
  float mean;

  HEXAPLAN_DEVICE float scale(std::int64_t block) const {
    if (scales_of_scales.data == nullptr) return vector_at(scales, block);
    const std::uint8_t code = codes_of_row(scales, 0)[block];
    return scale_values[code] * vector_at(scales_of_scales, block / costmodel::kNf4ScaleBlock) + mean;
  }
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> numbers;
    for (int i = 0; i < kCount; ++i) {
      const unsigned pair = codes_of_row(codes, 0)[(c + i) / 2];
      numbers.at[i] =
          values[(c + i) % 2 == 0 ? pair >> 4U : pair & 15U] * scale((c + i) / costmodel::kNf4Block);
    }
    store(out, r, c, numbers);
  }
};

}  // namespace

void dequantise_nf4(const Queue& queue, const Nf4Matrix& from, const View& out) {
  assert(from.codes.element == Element::U8 && out.elements() == from.numbers);
  FromNf4 numbers{.values = {},
                  .scale_values = {},
                  .codes = from.codes,
                  .scales = from.scales,
                  .scales_of_scales = from.scales_of_scales,
                  .out = out.reshaped(1, out.elements()),
                  .mean = from.mean};
  std::copy(kNf4Values.begin(), kNf4Values.end(), numbers.values);
  const DynamicMap map = dynamic_map(true);
  std::copy(map.values.begin(), map.values.end(), numbers.scale_values);
  launch_elementwise(queue, "dequantise_nf4", 1, from.numbers, packed({numbers.out}), numbers);
}

void quantise(const Queue& queue, int bits, const View& x, const View& codes, const View& scales) {
  assert((bits == 8 || bits == 4) && codes.element == Element::U8 && codes.rows == x.rows);
  const std::int64_t blocks = x.rows * ceil_of(x.cols, kNumbers);
  launch(queue,
         {.name = "quantise",
          .grid = {as_dim(std::min(blocks, kManyBlocks)), 1, 1},
          .block = {threads_for(std::min(x.cols, kNumbers)), 1, 1}},
         quantise_numbers, bits, x, codes, scales);
}

void dequantise(const Queue& queue, int bits, const View& codes, const View& scales, const View& out,
                bool accumulate) {
  assert((bits == 8 || bits == 4) && codes.element == Element::U8 && codes.rows == out.rows);
  launch(queue, by_rows("dequantise", out.rows, out.cols), dequantise_numbers, bits, codes, scales, out,
         accumulate);
}

}  // namespace hexaplan::validator::cuda
