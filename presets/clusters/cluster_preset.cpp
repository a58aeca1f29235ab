#include "presets/clusters/cluster_preset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "costmodel/units/trimmed.h"
#include "presets/catalog/catalog.h"
#include "presets/clusters/reliability_fields.h"
#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

using costmodel::BytesPerSecond;
using costmodel::ClusterSpec;
using costmodel::Fabric;
using costmodel::NetworkLevel;
using costmodel::Seconds;

// One hop, small messages. ib: NCCL src/graph/tuning.cc, hardware latency of a network ring step (LL). roce,
// ethernet (TCP), efa, omni-path and slingshot: NCCL's figure for a tree step over a network, and above it by
// the providers' own latency reports (AWS EFA ~15 µs end to end, TCP ~30 µs); calibration replaces them.
constexpr NetworkKind kNetworks[] = {{"ib", Seconds{2.7e-6}, false},      {"roce", Seconds{5e-6}, false},
                                     {"efa", Seconds{15e-6}, true},       {"slingshot", Seconds{5e-6}, false},
                                     {"omni-path", Seconds{5e-6}, false}, {"ethernet", Seconds{30e-6}, true}};

constexpr std::int64_t kMostGpus = 10'000'000;
// Largest NVLink domain without a rack: DGX-2 and HGX-2 joined 16 GPUs.
constexpr std::int64_t kMostGpusPerNode = 16;

InputError cluster_error(std::string_view text, std::string expected, std::string hint = {}) {
  return InputError({.field = "cluster",
                     .value = in_quotes(text),
                     .expected = std::move(expected),
                     .hint = std::move(hint)});
}

/// Removes "16x" from the front of `text`. A number without an x is left: "8x3090" names a GPU.
std::optional<std::int64_t> take_factor(std::string_view& text, std::string_view whole) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || (text[digits] != 'x' && text[digits] != 'X')) {
    return std::nullopt;
  }
  const auto value = costmodel::parse_number<std::int64_t>(text.substr(0, digits));
  if (!value || *value < 1 || *value > kMostGpus) {
    throw cluster_error(whole, fmt::format("1 to {} GPUs", kMostGpus));
  }
  text.remove_prefix(digits + 1);
  return value;
}

/// "ib400", "efa3200", "roce", "ib1600/node".
void read_network(std::string_view part, std::string_view whole, ClusterRequest& request) {
  std::string_view rest = costmodel::trimmed(part);
  const std::size_t digit = std::min(rest.find_first_of("0123456789."), rest.find('/'));
  const NetworkKind& kind = find_network(rest.substr(0, digit));
  request.network = std::string{kind.name};
  if (digit == std::string_view::npos) {
    return;
  }
  rest.remove_prefix(digit);
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
  const auto rate = costmodel::parse_number<double>(rest.substr(0, digits));
  const std::string_view scope = rest.substr(digits);
  if (!rate || !(*rate > 0 && *rate <= 1e6) || !(scope.empty() || scope == "/gpu" || scope == "/node")) {
    throw cluster_error(whole, "a network such as +ib400, +roce400/gpu or +efa3200/node (Gbit/s)");
  }
  const bool per_node = scope.empty() ? kind.rate_per_node : scope == "/node";
  (per_node ? request.gbps_per_node : request.gbps_per_gpu) = *rate;
  (per_node ? request.gbps_per_gpu : request.gbps_per_node) = 0;
}

/// "host1TiB", "nvme8TB": what a node has for offloaded tensors. False: something else is meant.
bool read_host_part(std::string_view part, std::string_view whole, ClusterRequest& request) {
  struct Word {
    std::string_view prefix;
    costmodel::Bytes ClusterRequest::*bytes;
  };
  constexpr Word words[] = {{"host", &ClusterRequest::host_memory}, {"nvme", &ClusterRequest::disk}};
  const std::string_view text = costmodel::trimmed(part);
  for (const Word& word : words) {
    if (text.substr(0, word.prefix.size()) != word.prefix) continue;
    const auto bytes = costmodel::parse_bytes(text.substr(word.prefix.size()));
    if (!bytes || *bytes <= costmodel::Bytes{} || costmodel::Bytes{1e15} < *bytes)
      throw cluster_error(whole, "memory of a node such as +host512GiB or +nvme8TB, up to 1 PB");
    request.*word.bytes = *bytes;
    return true;
  }
  return false;
}

constexpr std::string_view kTiersKey = "network_tiers";

/// Reliability and the network's tiers have sources.
void require_sources(ObjectReader sources, const ClusterRequest& request) {
  const auto require = [&](std::string_view key) {
    if (!sources.optional(key)) throw sources.error(key, "a source for " + std::string{key});
  };
  for (const ReliabilityField& field : reliability_fields()) {
    if (!field.write(request.reliability).is_null()) require(field.key);
  }
  if (!request.tiers.empty()) require(kTiersKey);
}

void read_cluster_file(std::string_view name, ClusterRequest& request) {
  const JsonDocument document = read_json_file(find_preset(PresetKind::Cluster, name));
  ObjectReader reader{document};
  (void)reader.required("title").text();
  request.gpu = reader.required("gpu").text();
  request.nodes = reader.required("nodes").integer({1, kMostGpus});
  request.per_node = reader.required("gpus_per_node").integer({1, 100'000});
  request.network = find_network(reader.required("network").text()).name;
  request.gbps_per_node = reader.required("network_gbps").number({0, 1e6});
  if (const auto memory = reader.optional("host_memory")) request.host_memory = memory->bytes();
  for (const ReliabilityField& field : reliability_fields()) {
    if (const auto value = reader.optional(field.key)) field.read(*value, request.reliability);
  }
  if (const auto tiers = reader.optional(kTiersKey)) request.tiers = read_tiers(*tiers, request.per_node);
  require_sources(reader.required("sources").object(), request);
  reader.finish();
}

bool is_gpu(std::string_view name) {
  if (name.ends_with(".json")) return false;  // a cluster's file
  try {
    (void)find_preset(PresetKind::Gpu, name);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// "8xH100" of "8 x H100", "8×H100" and "8H100": as people, and answers, write it.
std::string without_ornament(std::string_view shape) {
  constexpr std::string_view kTimes = "×";
  std::string plain{shape};
  if (plain.ends_with(".json")) return plain;
  for (std::size_t at = plain.find(kTimes); at != std::string::npos; at = plain.find(kTimes))
    plain.replace(at, kTimes.size(), "x");
  std::erase(plain, ' ');
  const std::size_t digits = std::min(plain.find_first_not_of("0123456789"), plain.size());
  const bool run_together =
      digits > 0 && digits < plain.size() && is_gpu(std::string_view{plain}.substr(digits));
  return run_together ? plain.insert(digits, "x") : plain;
}

/// "8xH100" where a shape is "H100x8", as cloud providers write it; any other as it is.
std::string number_first(std::string_view shape) {
  const std::size_t x = shape.find_last_not_of("0123456789");
  const bool gpu_first = x != std::string_view::npos && x > 0 && x + 1 < shape.size() &&
                         (shape[x] == 'x' || shape[x] == 'X') && is_gpu(shape.substr(0, x));
  return gpu_first ? fmt::format("{}x{}", shape.substr(x + 1), shape.substr(0, x)) : std::string{shape};
}

void read_shape(std::string_view shape, std::string_view whole, ClusterRequest& request) {
  const std::optional<std::int64_t> first = take_factor(shape, whole);
  if (!first) {
    if (is_gpu(shape)) {
      throw cluster_error(whole, "a number of GPUs", fmt::format("write 8x{}", shape));
    }
    read_cluster_file(shape, request);
    return;
  }
  if (const std::optional<std::int64_t> second = take_factor(shape, whole)) {
    request.nodes = *first;
    request.per_node = *second;
  } else {
    request.gpus = *first;
  }
  if (shape.empty()) {
    throw cluster_error(whole, "a GPU after the number", "write 8xH100");
  }
  request.gpu = std::string{shape};
}

/// GPUs that the node's own links join. Jobs on NVLink racks are placed in racks of equal size: of a world of
/// 256, 4 racks of 64 rather than 3 of 72 and a rest.
std::int64_t domain_of(const ReferenceNode& node, std::int64_t gpus, std::int64_t per_node,
                       std::int64_t nodes) {
  const std::int64_t rack = node.links.back().ranks;
  if (rack <= node.gpus) {
    return std::min(gpus, per_node);
  }
  // Nodes of the usual size are how schedulers count a rack's GPUs: the rack joins them all the same.
  if (nodes > 0 && gpus / nodes != node.gpus) {
    return std::min(gpus, gpus / nodes);
  }
  for (std::int64_t size = std::min(rack, gpus); size > node.gpus; --size) {
    if (gpus % size == 0 && size % node.gpus == 0) {
      return size;
    }
  }
  return std::min(rack, gpus);
}

std::vector<NetworkLevel> levels_inside(const ReferenceNode& node, std::int64_t domain) {
  std::vector<NetworkLevel> levels;
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    NetworkLevel level = node.links[i];
    level.ranks = i + 1 == node.links.size() ? domain : std::min(level.ranks, domain);
    if (levels.empty() || level.ranks > levels.back().ranks) {
      levels.push_back(std::move(level));
    }
  }
  return levels;
}

NetworkLevel level_between(const ReferenceNode& node, const ClusterRequest& request, std::int64_t gpus,
                           std::int64_t per_node) {
  const NetworkKind& kind = find_network(request.network.empty() ? node.network : request.network);
  const double reference = node.network_gbps / node.gpus;
  const double gbps = request.gbps_per_gpu > 0    ? request.gbps_per_gpu
                      : request.gbps_per_node > 0 ? request.gbps_per_node / static_cast<double>(per_node)
                                                  : reference;
  return {.name = fmt::format("{}{:g}", kind.name, gbps),
          .fabric = Fabric::Network,
          .ranks = gpus,
          .bandwidth = BytesPerSecond{gbps * 1e9 / 8},
          .latency = kind.latency};
}

ClusterSpec build(const GpuPreset& gpu, const ClusterRequest& request) {
  const ReferenceNode& node = gpu.node;
  const bool rack = node.links.back().ranks > node.gpus;
  const std::int64_t per_node = request.per_node > 0 && !rack ? request.per_node : node.gpus;
  const std::int64_t most =
      rack ? node.links.back().ranks : std::max<std::int64_t>(kMostGpusPerNode, node.gpus);
  if (request.per_node > most) {
    throw cluster_error(request.name,
                        fmt::format("at most {} {} joined by their own links", most, gpu.spec.name));
  }
  const std::int64_t gpus = request.nodes > 0 ? request.nodes * request.per_node : request.gpus;
  if (gpus < 1 || gpus > kMostGpus) {
    throw cluster_error(request.name, fmt::format("1 to {} GPUs", kMostGpus));
  }
  ClusterSpec cluster;
  cluster.name = request.name;
  cluster.gpu = gpu.spec;
  cluster.gpus = gpus;
  cluster.gpus_per_node = static_cast<int>(std::min(gpus, per_node));
  cluster.host = node.host;
  if (request.host_memory > costmodel::Bytes{}) cluster.host.memory = request.host_memory;
  if (request.disk > costmodel::Bytes{}) cluster.host.disk = request.disk;
  cluster.reliability = request.reliability;
  const std::int64_t domain = domain_of(node, gpus, per_node, request.nodes);
  cluster.levels = levels_inside(node, domain);
  if (gpus > domain) {
    cluster.levels.push_back(level_between(node, request, gpus, per_node));
    append_tiers(request.tiers, cluster);
  }
  return cluster;
}

}  // namespace

const NetworkKind& find_network(std::string_view name) {
  std::vector<std::string_view> names;
  for (const NetworkKind& kind : kNetworks) {
    if (kind.name == name) {
      return kind;
    }
    names.push_back(kind.name);
  }
  throw InputError({.field = "network",
                    .value = in_quotes(name),
                    .expected = "one of " + listed(names),
                    .hint = did_you_mean(costmodel::nearest_name(name, names))});
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const NetworkKind& kind : kNetworks) names.emplace_back(kind.name);
  return names;
}

namespace {

/// Whether `part` names GPUs, with or without their number: "H200", "64xH200", "4x8xA100-80GB".
bool names_gpus(std::string_view part) {
  std::string_view gpu = costmodel::trimmed(part);
  while (take_factor(gpu, part)) {
  }
  return is_gpu(costmodel::trimmed(gpu));
}

InputError mixed_types(std::string_view whole) {
  return cluster_error(whole, "GPUs of one type: jobs on mixed types are not planned",
                       "plan each type by itself, or compare them with search --gpu h100,a100 --gpus 64");
}

void read_network_part(std::string_view part, std::string_view whole, ClusterRequest& request) {
  try {
    read_network(part, whole, request);
  } catch (const InputError&) {
    if (names_gpus(part)) throw mixed_types(whole);
    throw;
  }
}

/// Two clusters between commas.
void refuse_list(std::string_view whole) {
  const std::size_t comma = whole.find(',');
  if (comma != std::string_view::npos && names_gpus(whole.substr(0, comma))) throw mixed_types(whole);
}

}  // namespace

ClusterRequest parse_cluster_request(std::string_view text) {
  const std::string_view whole = costmodel::trimmed(text);
  if (whole.empty()) {
    throw cluster_error(text, "a cluster such as 8xH100, 16x8xH200+ib400 or a preset's name");
  }
  refuse_list(whole);
  ClusterRequest request;
  request.name = std::string{whole};
  const std::size_t plus = whole.find('+');
  read_shape(number_first(without_ornament(costmodel::trimmed(whole.substr(0, plus)))), whole, request);
  std::vector<NetworkTier> tiers;
  for (std::size_t at = plus; at != std::string_view::npos;) {
    const std::size_t next = whole.find('+', at + 1);
    const std::string_view part = whole.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    if (auto tier = read_tier_part(part, whole)) {
      tiers.push_back(std::move(*tier));
    } else if (!read_host_part(part, whole, request)) {
      read_network_part(part, whole, request);
    }
    at = next;
  }
  if (!tiers.empty()) request.tiers = std::move(tiers);  // in place of a file's
  return request;
}

std::string to_cluster_text(const ClusterRequest& request) {
  std::string text = request.nodes > 0 ? fmt::format("{}x{}x{}", request.nodes, request.per_node, request.gpu)
                                       : fmt::format("{}x{}", request.gpus, request.gpu);
  if (!request.network.empty()) {
    text += '+' + request.network;
    if (request.gbps_per_node > 0) text += fmt::format("{}/node", request.gbps_per_node);
    if (request.gbps_per_gpu > 0) text += fmt::format("{}/gpu", request.gbps_per_gpu);
  }
  for (const NetworkTier& tier : request.tiers) text += '+' + to_text(tier);
  if (request.host_memory > costmodel::Bytes{}) text += fmt::format("+host{}B", request.host_memory.value());
  if (request.disk > costmodel::Bytes{}) text += fmt::format("+nvme{}B", request.disk.value());
  return text;
}

ClusterSpec parse_cluster(std::string_view text) {
  const ClusterRequest request = parse_cluster_request(text);
  const std::string_view whole = request.name;
  const GpuPreset gpu = find_gpu_preset(request.gpu);
  const std::int64_t node = gpu.node.gpus;
  if (request.nodes == 0 && request.gpus > node && request.gpus % node != 0) {
    throw cluster_error(whole,
                        fmt::format("at most {} GPUs or a multiple of {}, what a node of {} holds", node,
                                    node, gpu.spec.name),
                        "write NODESxGPUSxNAME for other nodes, such as 3x4x" + request.gpu);
  }
  return build(gpu, request);
}

ClusterSpec make_cluster(std::string_view gpu, std::int64_t gpus, int gpus_per_node, double node_nic_gbps,
                         std::string_view network) {
  return make_cluster(find_gpu_preset(gpu), gpus, gpus_per_node, node_nic_gbps, network);
}

ClusterSpec make_cluster(const GpuPreset& preset, std::int64_t gpus, int gpus_per_node, double node_nic_gbps,
                         std::string_view network) {
  if (gpus_per_node < 0 || !(node_nic_gbps >= 0 && std::isfinite(node_nic_gbps))) {
    throw cluster_error(fmt::format("{}x{}", gpus, preset.spec.name), "GPUs per node and network rate >= 0");
  }
  ClusterRequest request{
      .name = fmt::format("{}x{}", gpus, preset.spec.name), .gpu = preset.spec.name, .gpus = gpus};
  request.per_node = gpus_per_node;
  request.gbps_per_node = node_nic_gbps;
  request.network = std::string{network};
  return build(preset, request);
}

}  // namespace hexaplan::presets
