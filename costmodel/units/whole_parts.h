#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace hexaplan::costmodel {

/// `parts`, in bytes, as whole numbers that add up to `total`, their sum rounded to nearest: each is rounded
/// down, and those with the largest fractions take one byte more (largest remainder), so that no part is off
/// by a byte. What parts that do not add up to `total` leave goes to the largest.
[[nodiscard]] std::vector<std::int64_t> whole_parts(std::span<const double> parts, std::int64_t total);

}  // namespace hexaplan::costmodel
