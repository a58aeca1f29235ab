#include "costmodel/units/whole_parts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace hexaplan::costmodel {

std::vector<std::int64_t> whole_parts(std::span<const double> parts, std::int64_t total) {
  std::vector<std::int64_t> whole;
  if (parts.empty()) return whole;
  for (const double part : parts) whole.push_back(static_cast<std::int64_t>(std::floor(part)));
  const std::int64_t left = total - std::accumulate(whole.begin(), whole.end(), std::int64_t{0});
  if (left < 0 || left > static_cast<std::int64_t>(parts.size())) {
    whole[static_cast<std::size_t>(std::max_element(parts.begin(), parts.end()) - parts.begin())] += left;
    return whole;
  }
  std::vector<std::size_t> by_fraction(parts.size());
  std::iota(by_fraction.begin(), by_fraction.end(), std::size_t{0});
  std::stable_sort(by_fraction.begin(), by_fraction.end(), [&](std::size_t a, std::size_t b) {
    return parts[a] - std::floor(parts[a]) > parts[b] - std::floor(parts[b]);
  });
  for (std::int64_t i = 0; i < left; ++i) ++whole[by_fraction[static_cast<std::size_t>(i)]];
  return whole;
}

}  // namespace hexaplan::costmodel
