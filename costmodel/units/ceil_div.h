#pragma once
#include <cstdint>

namespace hexaplan::costmodel {

/// a / b rounded up: the largest part when `a` things are dealt to `b` ranks. Preconditions: a >= 0, b >= 1.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace hexaplan::costmodel
