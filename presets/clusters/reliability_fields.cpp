#include "presets/clusters/reliability_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "costmodel/units/parse_number.h"

namespace hexaplan::presets {
namespace {

using costmodel::BytesPerSecond;
using costmodel::Reliability;
using costmodel::Seconds;

constexpr double kHour = 3600;
constexpr Seconds kLongestMtbf{1e9 * kHour}, kLongestWait{1e4 * kHour};
constexpr BytesPerSecond kLeastStorage{1e6}, kMostStorage{1e16};
constexpr int kMostSpares = 100'000;
constexpr double kMostPue = 10;

template <std::optional<Seconds> Reliability::*member>
void read_mtbf(const ValueReader& value, Reliability& r) {
  r.*member = positive_time(value, kLongestMtbf);
}
template <std::optional<Seconds> Reliability::*member>
void read_wait(const ValueReader& value, Reliability& r) {
  r.*member = positive_time(value, kLongestWait);
}
template <std::optional<Seconds> Reliability::*member>
JsonValue write_time(const Reliability& r) {
  return r.*member ? JsonValue{exact_text(*(r.*member))} : JsonValue{};
}

void read_storage(const ValueReader& value, Reliability& r) {
  const BytesPerSecond rate = value.bandwidth();
  if (rate < kLeastStorage || kMostStorage < rate)
    throw value.error("the rate at which the whole job writes, from 1 MB/s to 10,000 TB/s, such as 200GB/s");
  r.storage_bandwidth = rate;
}
JsonValue write_storage(const Reliability& r) {
  if (!r.storage_bandwidth) return {};
  const double rate = r.storage_bandwidth->value();
  return rate / 1e9 * 1e9 == rate ? fmt::format("{}GB/s", rate / 1e9) : fmt::format("{}B/s", rate);
}

/// A number, also as the text of a flag.
double number_of(const ValueReader& value, RealRange range, const char* expected) {
  const auto* text = value.json().get_if<std::string>();
  if (text == nullptr) return value.number(range);
  const auto number = costmodel::parse_number<double>(*text);
  if (!number || !(*number >= range.low && *number <= range.high)) throw value.error(expected);
  return *number;
}
void read_spares(const ValueReader& value, Reliability& r) {
  const char* expected = "a whole number of nodes from 0 to 100000";
  const double count = number_of(value, {0, kMostSpares}, expected);
  if (count != static_cast<int>(count)) throw value.error(expected);
  r.spare_nodes = static_cast<int>(count);
}
void read_pue(const ValueReader& value, Reliability& r) {
  r.pue = number_of(value, {1, kMostPue}, "energy of the site over that of its GPUs, from 1 to 10");
}

constexpr ReliabilityField kFields[kReliabilityFields] = {
    {"gpu_mtbf", "--gpu-mtbf", read_mtbf<&Reliability::gpu_mtbf>, write_time<&Reliability::gpu_mtbf>},
    {"node_mtbf", "--node-mtbf", read_mtbf<&Reliability::node_mtbf>, write_time<&Reliability::node_mtbf>},
    {"link_mtbf", "--link-mtbf", read_mtbf<&Reliability::link_mtbf>, write_time<&Reliability::link_mtbf>},
    {"storage_bandwidth", "--storage-bandwidth", read_storage, write_storage},
    {"restart_time", "--restart-time", read_wait<&Reliability::restart_time>,
     write_time<&Reliability::restart_time>},
    {"repair_time", "--repair-time", read_wait<&Reliability::repair_time>,
     write_time<&Reliability::repair_time>},
    {"spare_nodes", "--spare-nodes", read_spares,
     [](const Reliability& r) { return r.spare_nodes ? JsonValue{*r.spare_nodes} : JsonValue{}; }},
    {"pue", "--pue", read_pue, [](const Reliability& r) { return r.pue ? JsonValue{*r.pue} : JsonValue{}; }},
};

}  // namespace

std::span<const ReliabilityField, kReliabilityFields> reliability_fields() {
  return kFields;
}

std::string exact_text(Seconds time) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr Unit units[] = {{kHour, "h"}, {60, "min"}};
  const double seconds = time.value();
  for (const auto& [size, name] : units) {
    const double count = seconds / size;
    if (count * size == seconds && count == std::floor(count)) return fmt::format("{}{}", count, name);
  }
  return fmt::format("{}s", seconds);
}

Seconds positive_time(const ValueReader& value, Seconds most) {
  const Seconds time = value.seconds();
  if (!(time > Seconds{}) || most < time)
    throw value.error(fmt::format("a time above 0 of at most {}, such as 90 s or 8 h", exact_text(most)));
  return time;
}

}  // namespace hexaplan::presets
