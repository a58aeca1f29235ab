#include "presets/gpus/gpu_preset.h"

#include <algorithm>

#include "costmodel/units/trimmed.h"
#include "presets/catalog/catalog.h"
#include "presets/json/object_reader.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {
namespace {

using costmodel::Fabric;

constexpr Named<Fabric> kFabricNames[] = {{"nvlink", Fabric::NvLink},
                                          {"nvswitch", Fabric::NvSwitch},
                                          {"pcie", Fabric::Pcie},
                                          {"infinity-fabric", Fabric::InfinityFabric}};

std::array<costmodel::FlopsPerSecond, costmodel::kPrecisionCount> read_peaks(ObjectReader reader) {
  std::array<costmodel::FlopsPerSecond, costmodel::kPrecisionCount> peaks{};
  for (const auto& row : kPrecisionNames) {
    if (const auto value = reader.optional(row.name)) {
      peaks[static_cast<std::size_t>(row.value)] = value->flops_rate();
    }
  }
  reader.finish();
  return peaks;
}

costmodel::NetworkLevel read_link(ObjectReader reader) {
  costmodel::NetworkLevel level;
  level.name = reader.required("name").text();
  level.fabric = reader.required("fabric").choice(kFabricNames);
  level.ranks = reader.required("gpus").integer({1, 100'000});
  level.bandwidth = reader.required("bandwidth").bandwidth();
  level.latency = reader.required("latency").seconds();
  if (const auto multicast = reader.optional("multicast")) {
    level.multicast = multicast->boolean();
  }
  reader.finish();
  return level;
}

costmodel::HostSpec read_host(ObjectReader reader) {
  costmodel::HostSpec host;
  host.memory = reader.required("memory").bytes();
  host.memory_bandwidth = reader.required("memory_bandwidth").bandwidth();
  if (const auto disk = reader.optional("disk")) {
    host.disk = disk->bytes();
    host.disk_read = reader.required("disk_read").bandwidth();
    host.disk_write = reader.required("disk_write").bandwidth();
  }
  reader.finish();
  return host;
}

ReferenceNode read_node(ObjectReader reader) {
  ReferenceNode node;
  node.gpus = reader.required("gpus").small_integer({1, 100'000});
  for (const ValueReader& link : reader.required("links").elements()) {
    node.links.push_back(read_link(link.object()));
  }
  if (const auto host = reader.optional("host")) node.host = read_host(host->object());
  node.network = reader.required("network").text();
  node.network_gbps = reader.required("network_gbps").number({0, 1e6});
  if (node.links.empty()) {
    throw reader.error("links", "at least one link");
  }
  reader.finish();
  return node;
}

std::vector<std::pair<std::string, std::string>> read_sources(ObjectReader reader) {
  std::vector<std::pair<std::string, std::string>> sources;
  for (const auto& [field, text] : reader.members()) {
    sources.emplace_back(field, text.text());
  }
  return sources;
}

/// Fields that hold numbers: each needs a source when it is present.
constexpr std::string_view kSourced[] = {
    "memory", "memory_bandwidth", "peak", "peak_integer", "peak_vector", "sm_count", "power_watts",
    "pcie",   "price_per_hour",   "node", "host"};

void require_sources(const GpuPreset& preset, const ObjectReader& reader) {
  for (const std::string_view field : kSourced) {
    const bool found = std::any_of(preset.sources.begin(), preset.sources.end(),
                                   [&](const auto& source) { return source.first == field; });
    const bool present = field == "price_per_hour" ? preset.spec.price_per_hour > 0
                         : field == "peak_integer" ? preset.spec.peak_integer.value() > 0
                         : field == "host"         ? preset.node.host.memory > costmodel::Bytes{}
                                                   : true;
    if (present && !found) {
      throw reader.error("sources", std::string{"a source for "} + std::string{field});
    }
  }
}

}  // namespace

GpuPreset read_gpu_preset(const std::filesystem::path& path) {
  const JsonDocument document = read_json_file(path);
  ObjectReader reader{document};
  GpuPreset preset;
  costmodel::GpuSpec& gpu = preset.spec;
  gpu.name = path.stem().string();
  preset.title = reader.required("title").text();
  gpu.architecture = reader.required("architecture").text();
  gpu.memory = reader.required("memory").bytes();
  gpu.memory_bandwidth = reader.required("memory_bandwidth").bandwidth();
  gpu.peak = read_peaks(reader.required("peak").object());
  if (const auto integers = reader.optional("peak_integer")) gpu.peak_integer = integers->flops_rate();
  gpu.peak_vector = reader.required("peak_vector").flops_rate();
  gpu.sm_count = reader.required("sm_count").small_integer({1, 100'000});
  gpu.power_watts = reader.required("power_watts").number({1, 1e6});
  gpu.pcie = reader.required("pcie").bandwidth();
  if (const auto price = reader.optional("price_per_hour")) {
    gpu.price_per_hour = price->number(kNotNegative);
  }
  preset.node = read_node(reader.required("node").object());
  preset.sources = read_sources(reader.required("sources").object());
  reader.finish();
  require_sources(preset, reader);
  return preset;
}

GpuPreset find_gpu_preset(std::string_view name) {
  return read_gpu_preset(find_preset(PresetKind::Gpu, name));
}

costmodel::GpuSpec find_gpu(std::string_view name) {
  return find_gpu_preset(name).spec;
}

std::optional<std::string> gpu_of_device(std::string_view description) {
  std::string_view device = description;
  for (const std::string_view maker : {"NVIDIA ", "Tesla ", "AMD "}) {
    if (const std::size_t at = device.find(maker); at != std::string_view::npos)
      device.remove_prefix(at + maker.size());
  }
  std::string name{costmodel::trimmed(device.substr(0, device.find_first_of(",;(")))};
  std::replace(name.begin(), name.end(), ' ', '-');
  try {
    return find_preset(PresetKind::Gpu, name).stem().string();
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace hexaplan::presets
