#pragma once
#include "validator/executor/device/cuda/kernels/spread.h"

// Kernels that have one head of one row at a time.

namespace hexaplan::validator::cuda {

/// One head of one row, of which this thread is lane `lane`. Not `inside`: behind the last, where lanes add
/// up with the others and touch nothing.
struct HeadOfRow {
  std::int64_t row, head, lane;
  bool inside;
};

/// kLanes neighbouring lanes share a head; heads count row after row. All lanes of a warp call
/// body(HeadOfRow) equally often.
template <unsigned kLanes, class Body>
HEXAPLAN_DEVICE void for_heads(std::int64_t rows, std::int64_t heads, const Body& body) {
  constexpr std::int64_t kOfWarp = kWarp / kLanes;
  const std::int64_t items = rows * heads, step = std::int64_t{gridDim.x} * blockDim.y * kOfWarp;
  for (std::int64_t begin = (std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y) * kOfWarp; begin < items;
       begin += step) {
    const std::int64_t item = begin + threadIdx.x / kLanes;
    const bool inside = item < items;
    body(HeadOfRow{inside ? item / heads : 0, inside ? item % heads : 0, threadIdx.x % kLanes, inside});
  }
}

/// Launches `half` where heads of `width` columns in packs leave half a warp without work, else `whole`.
template <class... P>
void launch_by_heads(const Queue& queue, const char* name, std::int64_t heads, std::int64_t width,
                     bool in_packs, void (*half)(P...), void (*whole)(P...),
                     const std::type_identity_t<P>&... arguments) {
  const bool narrow = in_packs && width <= kPack * std::int64_t{kWarp} / 2;
  launch(queue, by_warps(name, narrow ? ceil_of(heads, 2) : heads), narrow ? half : whole, arguments...);
}

}  // namespace hexaplan::validator::cuda
