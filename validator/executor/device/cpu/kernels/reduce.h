#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hexaplan::validator::kernels {

/// to[i] = sum or maximum over parts[0][i], parts[1][i], … in this order. `to` may be one of the parts.
template <class T>
void reduce_parts(std::span<const T* const> parts, bool maximum, std::int64_t elements, T* to) {
  for (std::int64_t i = 0; i < elements; ++i) {
    T value = parts.front()[i];
    for (const T* part : parts.subspan(1)) value = maximum ? std::max(value, part[i]) : value + part[i];
    to[i] = value;
  }
}

}  // namespace hexaplan::validator::kernels
