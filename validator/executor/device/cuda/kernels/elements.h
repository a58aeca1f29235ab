#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "validator/executor/device/cuda/kernels/launch.h"
#include "validator/executor/device/fp16.h"

// How kernels read and write numbers: single, or eight at a time in words of 16 bytes, converted from and to
// fp32 by what the view stores. The element is the same for a whole launch, so that the branch costs nothing
// beside the memory.

namespace hexaplan::validator::cuda {

/// Smaller than every number: the maximum and the log-sum-exp of nothing.
inline constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// Numbers that one thread handles at once where rows are aligned.
inline constexpr int kPack = 8;
/// The same where all are words of 4 bytes. Eight of them are two words of 16 bytes, between which the words
/// of neighbouring lanes lie apart: a store then writes halves of sectors (H200: fills at 1.85 instead of 4.2
/// TB/s).
inline constexpr int kWordPack = 4;

template <int kCount>
struct Pack {
  float at[kCount];
};

/// 16 bytes that may hold anything.
struct alignas(16) [[gnu::may_alias]] Words {
  std::uint32_t at[4];
};

template <class To, class From>
HEXAPLAN_DEVICE To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

HEXAPLAN_DEVICE float widened(std::uint32_t bf16) {
  return bits_of<float>(bf16 << 16);
}
/// To nearest, ties to even.
HEXAPLAN_DEVICE std::uint16_t narrowed(float x) {
#ifdef __CUDA_ARCH__
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const auto bits = bits_of<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
#endif
}

HEXAPLAN_DEVICE bool has_16_bits(Element element) {
  return element == Element::Bf16 || element == Element::F16;
}
/// Bytes of an element, where bytes_of is the host's.
HEXAPLAN_DEVICE int size_of(Element element) {
  return has_16_bits(element)                                 ? 2
         : element == Element::F64                            ? 8
         : element == Element::E4m3 || element == Element::U8 ? 1
                                                              : 4;
}
/// The number that 16 bits of `element` are, and back to nearest.
HEXAPLAN_DEVICE float widened(Element element, std::uint32_t bits) {
  if (element == Element::Bf16) return widened(bits);
  return bits_of<float>(float_bits_of_fp16(static_cast<std::uint16_t>(bits)));
}
HEXAPLAN_DEVICE std::uint16_t narrowed(Element element, float x) {
  return element == Element::Bf16 ? narrowed(x) : fp16_of_float_bits(bits_of<std::uint32_t>(x));
}

/// 8 bytes that may hold anything.
struct alignas(8) [[gnu::may_alias]] HalfWords {
  std::uint32_t at[2];
};

/// kCount numbers of a row from column `c` on. F32, Bf16 or F16; packs are aligned.
template <int kCount>
HEXAPLAN_DEVICE Pack<kCount> load(const std::byte* row, Element element, std::int64_t c) {
  Pack<kCount> out;
  if constexpr (kCount == 1) {
    out.at[0] = has_16_bits(element) ? widened(element, reinterpret_cast<const std::uint16_t*>(row)[c])
                                     : reinterpret_cast<const float*>(row)[c];
  } else if (has_16_bits(element)) {
    using Bits = std::conditional_t<kCount == kPack, Words, HalfWords>;
    const Bits words = reinterpret_cast<const Bits*>(row)[c / kCount];
    for (int i = 0; i < kCount / 2; ++i) {
      out.at[2 * i] = widened(element, words.at[i] & 0xffffU);
      out.at[2 * i + 1] = widened(element, words.at[i] >> 16);
    }
  } else {
    for (int part = 0; part < kCount / 4; ++part) {
      const Words words = reinterpret_cast<const Words*>(row)[c / 4 + part];
      for (int i = 0; i < 4; ++i) out.at[4 * part + i] = bits_of<float>(words.at[i]);
    }
  }
  return out;
}

template <int kCount>
HEXAPLAN_DEVICE void store(std::byte* row, Element element, std::int64_t c, const Pack<kCount>& in) {
  if constexpr (kCount == 1) {
    if (has_16_bits(element)) {
      reinterpret_cast<std::uint16_t*>(row)[c] = narrowed(element, in.at[0]);
    } else {
      reinterpret_cast<float*>(row)[c] = in.at[0];
    }
  } else if (has_16_bits(element)) {
    using Bits = std::conditional_t<kCount == kPack, Words, HalfWords>;
    Bits words;
    for (int i = 0; i < kCount / 2; ++i) {
      words.at[i] = narrowed(element, in.at[2 * i]) |
                    static_cast<std::uint32_t>(narrowed(element, in.at[2 * i + 1])) << 16;
    }
    reinterpret_cast<Bits*>(row)[c / kCount] = words;
  } else {
    for (int part = 0; part < kCount / 4; ++part) {
      Words words;
      for (int i = 0; i < 4; ++i) words.at[i] = bits_of<std::uint32_t>(in.at[4 * part + i]);
      reinterpret_cast<Words*>(row)[c / 4 + part] = words;
    }
  }
}

HEXAPLAN_DEVICE std::byte* row_of(const View& v, std::int64_t r) {
  return v.data + r * v.stride * size_of(v.element);
}
template <int kCount>
HEXAPLAN_DEVICE Pack<kCount> load(const View& v, std::int64_t r, std::int64_t c) {
  return load<kCount>(row_of(v, r), v.element, c);
}
template <int kCount>
HEXAPLAN_DEVICE void store(const View& v, std::int64_t r, std::int64_t c, const Pack<kCount>& in) {
  store<kCount>(row_of(v, r), v.element, c, in);
}
/// A pack as it is in memory: bf16 takes half of the registers that its numbers take.
template <int kCount, bool kBf16>
using Kept = std::conditional_t<kBf16 && kCount == kPack, Words, Pack<kCount>>;
template <int kCount, bool kBf16>
HEXAPLAN_DEVICE Kept<kCount, kBf16> keep(const View& v, std::int64_t r, std::int64_t c) {
  if constexpr (std::is_same_v<Kept<kCount, kBf16>, Words>) {
    return reinterpret_cast<const Words*>(row_of(v, r))[c / kPack];
  } else {
    return load<kCount>(v, r, c);
  }
}
template <int kCount>
HEXAPLAN_DEVICE Pack<kCount> numbers_of(const Pack<kCount>& kept) {
  return kept;
}
HEXAPLAN_DEVICE Pack<kPack> numbers_of(const Words& kept) {
  return load<kPack>(reinterpret_cast<const std::byte*>(&kept), Element::Bf16, 0);
}
HEXAPLAN_DEVICE float load(const View& v, std::int64_t r, std::int64_t c) {
  return load<1>(v, r, c).at[0];
}
HEXAPLAN_DEVICE void store(const View& v, std::int64_t r, std::int64_t c, float x) {
  store<1>(v, r, c, Pack<1>{{x}});
}
HEXAPLAN_DEVICE std::int32_t* integers(const View& v, std::int64_t r) {
  return reinterpret_cast<std::int32_t*>(row_of(v, r));
}
/// Element i of a vector: one row, or one column with any stride.
HEXAPLAN_DEVICE float vector_at(const View& v, std::int64_t i) {
  return v.rows == 1 ? load(v, 0, i) : load(v, i, 0);
}
HEXAPLAN_DEVICE void set_vector(const View& v, std::int64_t i, float x) {
  v.rows == 1 ? store(v, 0, i, x) : store(v, i, 0, x);
}
HEXAPLAN_DEVICE std::int32_t id_at(const View& v, std::int64_t i) {
  return v.rows == 1 ? integers(v, 0)[i] : integers(v, i)[0];
}

/// How many columns one call of a body handles, as a type.
template <int kCount>
struct Width {
  static constexpr int kValue = kCount;
};

/// Calls body(Width, c) for the columns [0, cols) of a row that thread `thread` of `threads` has: packs of
/// kWide where rows are aligned, the rest one by one.
template <int kWide = kPack, class Body>
HEXAPLAN_DEVICE void for_columns(std::int64_t cols, bool packed, std::int64_t thread, std::int64_t threads,
                                 const Body& body) {
  const std::int64_t in_packs = packed ? cols / kWide * kWide : 0;
  for (std::int64_t c = thread * kWide; c < in_packs; c += threads * kWide) body(Width<kWide>{}, c);
  for (std::int64_t c = in_packs + thread; c < cols; c += threads) body(Width<1>{}, c);
}

// --- sums over threads ---

struct Sum {
  template <class T>
  HEXAPLAN_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  HEXAPLAN_DEVICE float operator()(float a, float b) const { return a > b ? a : b; }
};

/// Over `kLanes` neighbouring lanes of a warp (a power of two), on all of them, in the same order.
template <unsigned kLanes = kWarp, class T, class Reduce = Sum>
HEXAPLAN_DEVICE T over_lanes(T mine, Reduce reduce = {}) {
  for (unsigned lanes = kLanes / 2; lanes > 0; lanes /= 2) mine = reduce(mine, shuffle_xor(mine, lanes));
  return mine;
}

/// Over all threads of a one-dimensional block, on all of them. All threads call it.
template <class T, class Reduce = Sum>
HEXAPLAN_DEVICE T over_block(T mine, Reduce reduce = {}) {
  HEXAPLAN_SHARED T of_warps[kLargestBlock / kWarp];
  mine = over_lanes(mine, reduce);
  sync_block();  // readers of the call before are gone
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = mine;
  sync_block();
  T all = of_warps[0];
  for (unsigned i = 1; i < blockDim.x / kWarp; ++i) all = reduce(all, of_warps[i]);
  return all;
}

}  // namespace hexaplan::validator::cuda
