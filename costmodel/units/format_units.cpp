#include "costmodel/units/format_units.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string_view>

namespace hexaplan::costmodel {
namespace {

struct Prefix {
  double factor;
  std::string_view unit;
};

// Ascending; the last whose factor the value reaches is used.
constexpr double kBinaryStep = 1024.0;
constexpr Prefix kBinary[] = {{1, "B"},
                              {kBinaryStep, "KiB"},
                              {kBinaryStep * kBinaryStep, "MiB"},
                              {kBinaryStep * kBinaryStep * kBinaryStep, "GiB"},
                              {kBinaryStep * kBinaryStep * kBinaryStep * kBinaryStep, "TiB"},
                              {kBinaryStep * kBinaryStep * kBinaryStep * kBinaryStep * kBinaryStep, "PiB"}};
constexpr Prefix kDecimal[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}};
constexpr Prefix kByteRates[] = {{1, "B/s"},    {1e3, "kB/s"},  {1e6, "MB/s"},
                                 {1e9, "GB/s"}, {1e12, "TB/s"}, {1e15, "PB/s"}};
constexpr Prefix kFlopRates[] = {{1, "FLOP/s"},     {1e6, "MFLOP/s"},  {1e9, "GFLOP/s"},
                                 {1e12, "TFLOP/s"}, {1e15, "PFLOP/s"}, {1e18, "EFLOP/s"}};
constexpr Prefix kFlops[] = {{1, "FLOP"},     {1e6, "MFLOP"},  {1e9, "GFLOP"},  {1e12, "TFLOP"},
                             {1e15, "PFLOP"}, {1e18, "EFLOP"}, {1e21, "ZFLOP"}, {1e24, "YFLOP"}};
constexpr Prefix kShortTimes[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
constexpr Prefix kCounts[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}};

constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
constexpr double kLongest = 9e15;  // seconds; beyond, hours do not count one by one

/// Three significant digits, without an exponent up to five digits and without trailing zeros: "1.5", "79.2",
/// "1023".
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
  return text == "-0" ? "0" : text;
}

std::string with_prefix(double value, std::span<const Prefix> prefixes) {
  if (!std::isfinite(value)) {
    return fmt::format("{} {}", value, prefixes.front().unit);
  }
  std::size_t i = 0;
  // The rounded value decides: 1023.7 MiB is "1 GiB", not "1024 MiB".
  while (i + 1 < prefixes.size() && std::abs(value) >= 0.9995 * prefixes[i + 1].factor) {
    ++i;
  }
  const std::string number = three_digits(value / prefixes[i].factor);
  return prefixes[i].unit.empty() ? number : fmt::format("{} {}", number, prefixes[i].unit);
}

/// "3 h 20 min"; the second part is left out when it is zero.
std::string two_parts(std::int64_t total, std::int64_t per_large, std::string_view large,
                      std::string_view small) {
  const std::int64_t rest = total % per_large;
  return rest == 0 ? fmt::format("{} {}", total / per_large, large)
                   : fmt::format("{} {} {} {}", total / per_large, large, rest, small);
}

}  // namespace

std::string format_binary(Bytes bytes) {
  return with_prefix(bytes.value(), kBinary);
}
std::string format_decimal(Bytes bytes) {
  return with_prefix(bytes.value(), kDecimal);
}
std::string format_rate(BytesPerSecond rate) {
  return with_prefix(rate.value(), kByteRates);
}
std::string format_rate(FlopsPerSecond rate) {
  return with_prefix(rate.value(), kFlopRates);
}
std::string format_flops(Flops flops) {
  return with_prefix(flops.value(), kFlops);
}

std::string format_duration(Seconds time) {
  const double seconds = time.value();
  const double size = std::abs(seconds);
  if (seconds == 0) {
    return "0 s";
  }
  if (!std::isfinite(seconds)) {
    return fmt::format("{} s", seconds);
  }
  if (size < kMinute - 0.05) {
    return with_prefix(seconds, kShortTimes);
  }
  if (size < kHour - 0.5) {
    return two_parts(std::llround(seconds), 60, "min", "s");
  }
  if (size < kDay - 30) {
    return two_parts(std::llround(seconds / kMinute), 60, "h", "min");
  }
  return size < kLongest ? two_parts(std::llround(seconds / kHour), 24, "d", "h")
                         : fmt::format("{:.3g} d", seconds / kDay);
}

std::string format_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 2 : 1;  // never before the first digit
  for (std::size_t at = digits.size(); at > first + 2;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string format_short(double count) {
  if (std::abs(count) < 10'000 && std::trunc(count) == count) {
    return fmt::format("{:.0f}", count);
  }
  return with_prefix(count, kCounts);
}

std::string format_percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string format_signed_percent(double share) {
  std::string text = fmt::format("{:+.1f} %", share * 100);
  if (text == "+0.0 %" || text == "-0.0 %") text.erase(0, 1);
  return text;
}

}  // namespace hexaplan::costmodel
