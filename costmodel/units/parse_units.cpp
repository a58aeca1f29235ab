#include "costmodel/units/parse_units.h"

#include <cmath>
#include <span>
#include <string>

#include "costmodel/units/parse_number.h"
#include "costmodel/units/trimmed.h"

namespace hexaplan::costmodel {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024.0, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;

constexpr Unit kByteUnits[] = {{"B", 1},     {"kB", 1e3},  {"KB", 1e3},  {"MB", 1e6},  {"GB", 1e9},
                               {"TB", 1e12}, {"KiB", kKi}, {"MiB", kMi}, {"GiB", kGi}, {"TiB", kTi}};

constexpr Unit kBandwidthUnits[] = {
    {"B/s", 1},          {"kB/s", 1e3},        {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12},
    {"KiB/s", kKi},      {"MiB/s", kMi},       {"GiB/s", kGi},    {"TiB/s", kTi},    {"Mbit/s", 1e6 / 8},
    {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
    {"Mbps", 1e6 / 8},   {"Gbps", 1e9 / 8},    {"Tbps", 1e12 / 8}};

constexpr Unit kFlopsUnits[] = {{"FLOP/s", 1},     {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15},
                                {"EFLOP/s", 1e18}, {"FLOPS", 1},     {"GFLOPS", 1e9},   {"TFLOPS", 1e12},
                                {"PFLOPS", 1e15},  {"EFLOPS", 1e18}};

constexpr Unit kTimeUnits[] = {{"ns", 1e-9}, {"us", 1e-6},  {"µs", 1e-6}, {"ms", 1e-3},
                               {"s", 1},     {"min", 60.0}, {"h", 3600},  {"d", 86400}};

constexpr Unit kLengthUnits[] = {{"", 1}, {"k", kKi}, {"K", kKi}, {"m", kMi}, {"M", kMi}};
constexpr Unit kCountUnits[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},  {"M", 1e6}, {"B", 1e9},
                                {"b", 1e9}, {"G", 1e9}, {"T", 1e12}, {"t", 1e12}};

constexpr double kLargest = 9.2e18;  // below 2^63

std::optional<double> parse_with(std::string_view text, std::span<const Unit> units) {
  text = trimmed(text);
  const auto number = take_number<double>(text);
  if (!number || !std::isfinite(*number) || std::signbit(*number)) {
    return std::nullopt;
  }
  const std::string_view unit = trimmed(text);
  for (const Unit& candidate : units) {
    if (candidate.name == unit && std::isfinite(*number * candidate.factor)) {
      return *number * candidate.factor;
    }
  }
  return std::nullopt;
}

template <class Q>
std::optional<Q> quantity_with(std::string_view text, std::span<const Unit> units) {
  const std::optional<double> value = parse_with(text, units);
  return value ? std::optional{Q{*value}} : std::nullopt;
}

/// "4,096" as "4096": the program prints numbers so. Any other text as it is.
std::string without_group_separators(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t digits = text.find_first_not_of("0123456789,");
  const std::string_view number = text.substr(0, digits);
  std::string joined;
  for (std::size_t i = 0; i < number.size(); ++i) {
    const std::size_t from_end = number.size() - 1 - i;
    if (is_digit(number[i]) != (from_end % 4 != 3)) return std::string{text};
    if (is_digit(number[i])) joined += number[i];
  }
  if (number.find(',') == 0) return std::string{text};
  return joined.append(text.substr(number.size()));
}

std::optional<std::int64_t> whole_with(std::string_view written, std::span<const Unit> units) {
  const std::string text = without_group_separators(written);
  // Plain digits first: a double would round beyond 2^53.
  const auto digits = parse_number<std::int64_t>(text);
  if (digits && *digits >= 0 && text.front() != '-') {
    return digits;
  }
  const std::optional<double> value = parse_with(text, units);
  if (!value || *value > kLargest) {
    return std::nullopt;
  }
  const double whole = std::round(*value);
  // "2.3B" is 2299999999.9999995 in binary: whole to 15 digits counts as whole.
  if (std::abs(*value - whole) > 1e-15 * whole) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(whole);
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  return quantity_with<Bytes>(text, kByteUnits);
}
std::optional<BytesPerSecond> parse_bandwidth(std::string_view text) {
  return quantity_with<BytesPerSecond>(text, kBandwidthUnits);
}
std::optional<FlopsPerSecond> parse_flops_rate(std::string_view text) {
  return quantity_with<FlopsPerSecond>(text, kFlopsUnits);
}
std::optional<Seconds> parse_seconds(std::string_view text) {
  return quantity_with<Seconds>(text, kTimeUnits);
}
std::optional<std::int64_t> parse_length(std::string_view text) {
  return whole_with(text, kLengthUnits);
}
std::optional<std::int64_t> parse_count(std::string_view text) {
  return whole_with(text, kCountUnits);
}

}  // namespace hexaplan::costmodel
