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
    {"gpu_mtbf",
     "--gpu-mtbf",
     {.value = "TIME",
      .help = "Mean time between failures of one GPU: 50000h. Default: the cluster's, or 65536h",
      .examples = "20000h 50000h 100000h",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "MTBF of a GPU"),
      .formula = "U4",
      .tip = window_text("Field",
                         "Mean time between failures of one GPU and its process; auto: the cluster's, or as "
                         "in the Llama 3 report.")},
     read_mtbf<&Reliability::gpu_mtbf>,
     write_time<&Reliability::gpu_mtbf>},
    {"node_mtbf",
     "--node-mtbf",
     {.value = "TIME",
      .help = "... of what else is in a node. Default: the cluster's, or 57700h",
      .examples = "20000h 50000h 100000h",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "MTBF of a node"),
      .formula = "U4",
      .tip = window_text("Field",
                         "Mean time between failures of what a node has beside its GPUs; auto: the "
                         "cluster's, or as in the Llama 3 report.")},
     read_mtbf<&Reliability::node_mtbf>,
     write_time<&Reliability::node_mtbf>},
    {"link_mtbf",
     "--link-mtbf",
     {.value = "TIME",
      .help = "... of one GPU's link to other nodes. Default: the cluster's, or 433340h",
      .examples = "100000h 400000h 1000000h",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "MTBF of a link"),
      .formula = "U4",
      .tip = window_text("Field",
                         "Mean time between failures of one GPU's link to other nodes; auto: the cluster's, "
                         "or as in the Llama 3 report.")},
     read_mtbf<&Reliability::link_mtbf>,
     write_time<&Reliability::link_mtbf>},
    {"storage_bandwidth",
     "--storage-bandwidth",
     {.value = "RATE",
      .help = "Rate at which the whole job writes checkpoints: 200GB/s. Default: the cluster's, or 0.7GB/s "
              "per node",
      .examples = "20GB/s 100GB/s 500GB/s 2000GB/s",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Storage"),
      .formula = "U4",
      .tip = window_text("Field",
                         "Rate at which the whole job writes and loads checkpoints; auto: the cluster's, or "
                         "0.7 GB/s per node.")},
     read_storage,
     write_storage},
    {"restart_time",
     "--restart-time",
     {.value = "TIME",
      .help = "From a failure until training goes on, without loading. Default: the cluster's, or 10min",
      .examples = "2min 10min 30min",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Restart"),
      .formula = "U4",
      .tip = window_text("Field",
                         "From a failure until training goes on, without loading the checkpoint; auto: the "
                         "cluster's, or 10 min.")},
     read_wait<&Reliability::restart_time>,
     write_time<&Reliability::restart_time>},
    {"repair_time",
     "--repair-time",
     {.value = "TIME",
      .help = "Until a node that failed is back. Default: the cluster's, or 1d",
      .examples = "4h 24h 168h",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Repair of a node"),
      .formula = "U4",
      .tip = window_text("Field", "Until a node that failed is back; auto: the cluster's, or 1 d.")},
     read_wait<&Reliability::repair_time>,
     write_time<&Reliability::repair_time>},
    {"spare_nodes",
     "--spare-nodes",
     {.value = "N",
      .help = "Nodes that wait to replace others. Default: the cluster's, or always enough",
      .examples = "0 1 2 4 8 16",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Spare nodes"),
      .unit = window_text("Field", "nodes"),
      .formula = "U4",
      .tip = window_text("Field",
                         "Nodes that wait to replace others, and are paid for; auto: the cluster's, or one "
                         "is always at hand.")},
     read_spares,
     [](const Reliability& r) { return r.spare_nodes ? JsonValue{*r.spare_nodes} : JsonValue{}; }},
    {"pue",
     "--pue",
     {.value = "X",
      .help = "Energy of the site over that of its GPUs. Default: the cluster's, or the GPUs alone",
      .examples = "1.1 1.2 1.5",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "PUE"),
      .unit = window_text("Field", "× GPUs"),
      .formula = "U3",
      .tip = window_text(
          "Field", "Energy of the site over that of its GPUs; auto: the cluster's, or the GPUs alone.")},
     read_pue,
     [](const Reliability& r) { return r.pue ? JsonValue{*r.pue} : JsonValue{}; }},
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
