#include "costmodel/posttrain/response_lengths.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace hexaplan::costmodel {
namespace {

/// Mean over the longest, of lengths with density e^(-rate·x) for x in [0, 1].
double mean_at(double rate) {
  if (std::abs(rate) < 1e-6) return 0.5 - rate / 12;
  return 1 / rate - 1 / std::expm1(rate);
}

/// The rate whose mean is `share`; the mean falls with the rate.
double rate_of(double share) {
  constexpr double kSteepest = 1e4;
  double low = -kSteepest, high = kSteepest;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (mean_at(middle) > share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// The share of the longest that a share `u` of all responses stays below.
double quantile(double rate, double u) {
  if (std::abs(rate) < 1e-6) return u;
  if (rate < 0) return 1 - quantile(-rate, 1 - u);
  return -std::log1p(u * std::expm1(-rate)) / rate;
}

/// Bits of `i` behind the binary point in reverse: neighbours lie far apart, whatever the count.
double radical_inverse(std::uint32_t i) {
  double value = 0;
  for (double bit = 0.5; i != 0; i >>= 1U, bit /= 2) value += (i & 1U) * bit;
  return value;
}

}  // namespace

std::vector<std::int64_t> response_lengths(const TokenLengths& lengths, std::int64_t count) {
  const double longest = static_cast<double>(lengths.longest);
  const auto n = static_cast<std::size_t>(count);
  if (n == 1) return {std::max<std::int64_t>(1, std::llround(lengths.mean))};
  std::vector<std::int64_t> sorted(n, lengths.longest);
  if (lengths.mean < longest) {
    const double rate = rate_of(lengths.mean / longest);
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const double share = quantile(rate, (static_cast<double>(i) + 0.5) / static_cast<double>(n));
      sorted[i] = std::max<std::int64_t>(1, std::llround(share * longest));
    }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [](std::size_t a, std::size_t b) {
    return radical_inverse(static_cast<std::uint32_t>(a)) < radical_inverse(static_cast<std::uint32_t>(b));
  });
  std::vector<std::int64_t> result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = sorted[order[i]];
  return result;
}

}  // namespace hexaplan::costmodel
