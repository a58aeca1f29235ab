#include "presets/calibration/fabric/read_fabric.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "presets/calibration/fabric/collective_names.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

using costmodel::Calibration;
using costmodel::CollectiveCurve;
using costmodel::NetworkModel;
using costmodel::Provenance;

constexpr Named<Provenance> kProvenances[] = {
    {"measured", Provenance::Measured}, {"borrowed", Provenance::Borrowed}, {"prior", Provenance::Prior}};

constexpr std::string_view kFabricSchema = "hexaplan/fabric/1", kCalibrationSchema = "hexaplan/calibration/1";

void check_schema(ObjectReader& root, std::string_view expected) {
  const ValueReader schema = root.required("schema");
  if (schema.text() != expected) {
    throw schema.error(in_quotes(expected));
  }
}

bool names(const ValueReader& list, std::string_view name) {
  const auto elements = list.elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](const ValueReader& e) { return e.text() == name; });
}

CollectiveCurve read_curve(const ValueReader& value) {
  ObjectReader reader = value.object();
  CollectiveCurve curve;
  curve.kind = reader.required("kind").choice(kCollectiveNames);
  curve.ranks = reader.required("ranks").integer({2, 1'000'000});
  const ValueReader sizes = reader.required("size_bytes");
  for (const double size : sizes.numbers({1, 1e15})) {
    curve.size.log2.push_back(std::log2(size));
  }
  const ValueReader times = reader.required("microseconds");
  curve.microseconds = times.numbers({1e-3, 1e12});
  reader.finish();
  const auto not_rising = [](double a, double b) { return a >= b; };
  if (curve.size.log2.empty() || std::adjacent_find(curve.size.log2.begin(), curve.size.log2.end(),
                                                    not_rising) != curve.size.log2.end()) {
    throw sizes.error("sizes that rise, at least one");
  }
  if (curve.microseconds.size() != curve.size.log2.size()) {
    throw times.error("one time per size");
  }
  if (!std::is_sorted(curve.microseconds.begin(), curve.microseconds.end())) {
    throw times.error("times that never fall as the size grows");
  }
  return curve;
}

struct NetworkEntry {
  std::string name;
  bool matches = false;
  Provenance provenance = Provenance::Prior;
  NetworkModel model;
  std::string source;
};

/// "ib400" and "ib-400" are networks of kind "ib": NetworkLevel::name carries the rate.
std::string_view kind_of(std::string_view level) {
  std::string_view kind = level.substr(0, level.find_first_of("0123456789"));
  while (!kind.empty() && kind.back() == '-') {
    kind.remove_suffix(1);
  }
  return kind;
}

NetworkEntry read_network(const ValueReader& value, std::string_view kind, std::string_view architecture) {
  ObjectReader reader = value.object();
  NetworkEntry entry;
  entry.name = reader.required("name").text();
  entry.matches = names(reader.required("kinds"), kind);
  if (const auto architectures = reader.optional("architectures")) {
    entry.matches = entry.matches && names(*architectures, architecture);
  }
  entry.provenance = reader.required("provenance").choice(kProvenances);
  const ValueReader efficiency = reader.required("bandwidth_efficiency");
  entry.model.bandwidth_efficiency = efficiency.number(kShare);
  if (entry.model.bandwidth_efficiency <= 0) {
    throw efficiency.error("a share above 0");
  }
  if (const auto ceiling = reader.optional("ceiling")) {
    entry.model.ceiling = ceiling->bandwidth();
  }
  entry.model.base_latency = reader.required("base_latency").seconds();
  entry.model.hop_latency = reader.required("hop_latency").seconds();
  entry.model.congestion_per_doubling = reader.required("congestion_per_doubling").number({0.0, 0.9});
  entry.model.congestion_free_nodes = reader.required("congestion_free_nodes").number({1.0, 1e9});
  if (const auto contention = reader.optional("contention_per_doubling"))
    entry.model.contention_per_doubling = contention->number({-0.5, 0.9});
  if (const auto share = reader.optional("pair_share")) entry.model.pair_share = share->number({0.01, 2.0});
  if (const auto share = reader.optional("exchange_share"))
    entry.model.exchange_share = share->number({0.01, 2.0});
  entry.source = reader.required("source").text();
  reader.skip("fit");
  reader.finish();
  return entry;
}

OwnFabric read_links(ObjectReader& root) {
  OwnFabric fabric;
  for (const ValueReader& gpu : root.required("gpus").elements()) fabric.gpus.push_back(gpu.text());
  fabric.source = root.required("source").text();
  root.skip("date");
  root.skip("fit");
  for (const ValueReader& value : root.required("collectives").elements())
    fabric.collectives.push_back(read_curve(value));
  if (const auto network = root.optional("network")) fabric.network = read_network(*network, {}, {}).model;
  if (const auto slowdown = root.optional("overlap_slowdown"))
    fabric.overlap_slowdown = slowdown->number({1.0, 10.0});
  root.finish();
  return fabric;
}

void read_curves(const std::filesystem::path& folder, const costmodel::ClusterSpec& cluster,
                 Calibration& calibration, FabricOrigin& origin) {
  calibration.collectives.clear();
  const std::string& gpu = cluster.gpu.name;
  const std::filesystem::path path = folder / (gpu.substr(0, gpu.find('-')) + ".json");
  if (cluster.levels.empty() || cluster.levels.front().fabric == costmodel::Fabric::Pcie ||
      !std::filesystem::exists(path)) {
    return;
  }
  const JsonDocument document = read_json_file(path);
  ObjectReader root{document};
  check_schema(root, kFabricSchema);
  OwnFabric links = read_links(root);
  if (std::find(links.gpus.begin(), links.gpus.end(), gpu) == links.gpus.end()) return;
  calibration.collectives = std::move(links.collectives);
  origin.inside = Provenance::Measured;
  origin.inside_source = std::move(links.source);
}

void read_networks(const std::filesystem::path& folder, const costmodel::ClusterSpec& cluster,
                   Calibration& calibration, FabricOrigin& origin) {
  const JsonDocument document = read_json_file(folder / "networks.json");
  ObjectReader root{document};
  check_schema(root, "hexaplan/networks/1");
  const std::string_view kind = kind_of(network_cards(cluster)->name);
  std::optional<NetworkEntry> chosen;
  bool found = false;
  for (const ValueReader& value : root.required("networks").elements()) {
    NetworkEntry entry = read_network(value, kind, cluster.gpu.architecture);
    const bool fallback = entry.name == "unknown" && !chosen;
    if ((entry.matches && !found) || fallback) {
      found = entry.matches;
      chosen = std::move(entry);
    }
  }
  root.finish();
  if (!chosen) {
    throw root.error("networks", "an entry \"unknown\" for other kinds of network");
  }
  calibration.network = chosen->model;
  origin.network = chosen->name;
  origin.network_provenance = chosen->provenance;
  origin.network_source = chosen->source;
}

}  // namespace

std::optional<OwnFabric> read_own_fabric(const std::filesystem::path& path) {
  const JsonDocument document = read_json_file(path);
  ObjectReader root{document};
  const ValueReader schema = root.required("schema");
  if (schema.text() == kFabricSchema) return read_links(root);
  if (schema.text() != kCalibrationSchema) throw schema.error(in_quotes(kFabricSchema));
  const auto member = root.optional("fabric");
  if (!member) return std::nullopt;
  ObjectReader fabric = member->object();
  return read_links(fabric);
}

void apply(const OwnFabric& fabric, Calibration& calibration, FabricOrigin& origin) {
  if (!fabric.collectives.empty()) {
    calibration.collectives = fabric.collectives;
    origin.inside = Provenance::Measured;
    origin.inside_source = fabric.source;
  }
  if (!fabric.network) return;
  calibration.network = *fabric.network;
  origin.network = "measured";
  origin.network_provenance = Provenance::Measured;
  origin.network_source = fabric.source;
}

FabricOrigin read_fabric(const std::filesystem::path& folder, const costmodel::ClusterSpec& cluster,
                         Calibration& calibration) {
  FabricOrigin origin;
  read_curves(folder, cluster, calibration, origin);
  if (network_cards(cluster) != nullptr) {
    read_networks(folder, cluster, calibration, origin);
  }
  return origin;
}

}  // namespace hexaplan::presets
