#include "presets/machines/imported_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "presets/gpus/gpu_preset.h"
#include "presets/json/input_error.h"
#include "presets/json/read_text_file.h"

namespace hexaplan::presets {
namespace {

constexpr std::int64_t kLargestMachineFile = 10'000'000;

/// A number, and the file and line that say it.
struct Placed {
  std::int64_t value = 0;
  std::string place;
};

/// What all files say together.
struct GatheredMachines {
  std::optional<std::pair<MachineTopology, std::string>> topology;
  std::optional<std::pair<MachineGpus, std::string>> gpus;
  std::vector<std::pair<MachinePort, std::string>> ports;
  std::vector<std::pair<SlurmNode, std::string>> nodes;
};

void gather(const MachineFile& file, GatheredMachines& into) {
  switch (tool_of(file.text, file.name)) {
    case MachineTool::Topology:
      into.topology = {read_topology(file.text, file.name), file.name};
      break;
    case MachineTool::NvidiaSmi:
      into.gpus = {read_nvidia_smi(file.text, file.name), file.name};
      break;
    case MachineTool::Ibstat:
      for (MachinePort& port : read_ibstat(file.text, file.name))
        into.ports.emplace_back(std::move(port), file.name);
      break;
    case MachineTool::Slurm:
      for (SlurmNode& node : read_slurm_nodes(file.text, file.name))
        into.nodes.emplace_back(std::move(node), file.name);
      break;
  }
}

std::string place_of(const std::string& file, int line) {
  return fmt::format("{}:{}", file, line);
}

/// The nodes that jobs get most GPUs of: those of one type and number. Others are named.
std::vector<std::pair<SlurmNode, std::string>> alike_nodes(const GatheredMachines& gathered,
                                                           ImportedCluster& into) {
  const auto same = [](const SlurmNode& a, const SlurmNode& b) { return a.gpu == b.gpu && a.gpus == b.gpus; };
  const auto counts = [&](const SlurmNode& node) { return node.usable && node.gpus > 0; };
  const SlurmNode* most = nullptr;
  std::int64_t best = 0;
  for (const auto& [node, file] : gathered.nodes) {
    if (!counts(node)) continue;
    std::int64_t gpus = 0;
    for (const auto& [other, ignored] : gathered.nodes)
      gpus += counts(other) && same(node, other) ? other.gpus : 0;
    if (gpus > best) {
      best = gpus;
      most = &node;
    }
  }
  std::vector<std::pair<SlurmNode, std::string>> alike;
  for (const auto& each : gathered.nodes) {
    const auto& [node, file] = each;
    if (most != nullptr && counts(node) && same(node, *most)) {
      alike.push_back(each);
    } else {
      into.notes.push_back(fmt::format("{}: node {} is not counted: {}", place_of(file, node.line), node.name,
                                       !node.usable     ? "it is down or drained"
                                       : node.gpus == 0 ? "it has no GPUs"
                                                        : "its GPUs are others"));
    }
  }
  return alike;
}

/// The preset of the GPU that somebody or a file names.
std::string gpu_preset_of(const GatheredMachines& gathered,
                          const std::vector<std::pair<SlurmNode, std::string>>& nodes,
                          const MachineWords& words, const std::vector<MachineFile>& files) {
  if (!words.gpu.empty()) {
    (void)find_gpu_preset(words.gpu);
    return words.gpu;
  }
  const auto named = [](const std::string& name, const std::string& place) {
    if (const auto preset = gpu_of_device(name)) return *preset;
    throw InputError({.file = place,
                      .value = in_quotes(name),
                      .expected = "a GPU that has a preset",
                      .hint = "say which one it is with --gpu, or --gpu mine.json for a file of your own"});
  };
  if (gathered.gpus)
    return named(gathered.gpus->first.name, place_of(gathered.gpus->second, gathered.gpus->first.line));
  if (!nodes.empty() && !nodes.front().first.gpu.empty())
    return named(nodes.front().first.gpu, place_of(nodes.front().second, nodes.front().first.line));
  throw InputError({.file = files.front().name,
                    .expected = "the type of the GPUs",
                    .hint = "give the output of 'nvidia-smi -q -x', too, or say --gpu"});
}

/// The one number that the files say. InputError that names both where they differ.
std::int64_t agreed(const std::vector<Placed>& places, const char* what) {
  for (const Placed& each : places) {
    if (each.value == places.front().value) continue;
    throw InputError(
        {.file = each.place,
         .value = std::to_string(each.value),
         .expected = fmt::format("{} {}, as {} says", places.front().value, what, places.front().place)});
  }
  return places.front().value;
}

std::int64_t gpus_per_node(const GatheredMachines& gathered,
                           const std::vector<std::pair<SlurmNode, std::string>>& nodes,
                           ImportedCluster& into) {
  std::vector<Placed> places;
  if (gathered.topology) {
    const auto& [topology, file] = *gathered.topology;
    places.push_back({topology.gpus, place_of(file, topology.line)});
    into.said.push_back(fmt::format(
        "{}: {} GPUs{}, {} network cards", places.back().place, topology.gpus,
        topology.nvlinks > 0 ? fmt::format(", {} NVLinks between any two", topology.nvlinks) : std::string{},
        topology.cards));
  }
  if (gathered.gpus) {
    const auto& [gpus, file] = *gathered.gpus;
    places.push_back({gpus.count, place_of(file, gpus.line)});
    into.said.push_back(
        fmt::format("{}: {} × {}, {} MiB", places.back().place, gpus.count, gpus.name, gpus.memory_mib));
  }
  if (!nodes.empty())
    places.push_back({nodes.front().first.gpus, place_of(nodes.front().second, nodes.front().first.line)});
  if (places.empty()) return 0;
  return agreed(places, "GPUs of a node");
}

/// What the files say that a cluster's file has no word for.
void note_differences(const GatheredMachines& gathered, const GpuPreset& preset, ImportedCluster& into) {
  if (gathered.topology) {
    const auto& [topology, file] = *gathered.topology;
    const costmodel::Fabric fabric = preset.node.links.front().fabric;
    const bool nvlink = fabric == costmodel::Fabric::NvLink || fabric == costmodel::Fabric::NvSwitch;
    if (!topology.without_nvlink.empty()) {
      into.notes.push_back(fmt::format("{}: {}: NVLink joins some GPUs only; planned are the links of {}",
                                       place_of(file, topology.line), topology.without_nvlink, preset.title));
    } else if (nvlink != (topology.nvlinks > 0) && topology.gpus > 1) {
      into.notes.push_back(fmt::format("{}: {} NVLink between the GPUs; planned are the links of {}",
                                       place_of(file, topology.line), nvlink ? "no" : "there is",
                                       preset.title));
    }
  }
  if (!gathered.gpus) return;
  const auto& [gpus, file] = *gathered.gpus;
  const std::string place = place_of(file, gpus.line);
  if (gpus.instances) into.notes.push_back(fmt::format("{}: MIG is on: the plan is for whole GPUs", place));
  if (gpus.watts > 0 && gpus.default_watts > 0 && gpus.watts < 0.98 * gpus.default_watts)
    into.notes.push_back(
        fmt::format("{}: the power limit is {:g} W instead of {:g} W: GPUs are slower than planned", place,
                    gpus.watts, gpus.default_watts));
  const double mib = preset.spec.memory / costmodel::Bytes{1024.0 * 1024};
  if (gpus.memory_mib > 0 && std::abs(static_cast<double>(gpus.memory_mib) / mib - 1) > 0.08)
    into.notes.push_back(
        fmt::format("{}: {} MiB of memory, the preset has {:.0f} MiB", place, gpus.memory_mib, mib));
}

/// Ports of one kind and rate.
struct Rail {
  bool infiniband = false;
  double gbps = 0;
  int ports = 0;
};

/// The cards that a node talks to others by: those ports whose rates add up to most. Cards for storage and
/// management are slower or fewer.
std::optional<Rail> rail_of(const GatheredMachines& gathered, ImportedCluster& into) {
  std::vector<Rail> rails;
  for (const auto& [port, file] : gathered.ports) {
    if (!port.active || port.gbps <= 0) continue;
    const auto found = std::find_if(rails.begin(), rails.end(), [&p = port](const Rail& rail) {
      return rail.infiniband == p.infiniband && rail.gbps == p.gbps;
    });
    if (found == rails.end()) {
      rails.push_back({port.infiniband, port.gbps, 1});
    } else {
      ++found->ports;
    }
  }
  if (rails.empty()) return std::nullopt;
  const auto best = std::max_element(rails.begin(), rails.end(), [](const Rail& a, const Rail& b) {
    return a.gbps * a.ports < b.gbps * b.ports;
  });
  for (const auto& [port, file] : gathered.ports) {
    if (port.active && port.infiniband == best->infiniband && port.gbps == best->gbps) continue;
    into.notes.push_back(fmt::format(
        "{}: {} is not counted: {}", place_of(file, port.line), port.card,
        port.active ? fmt::format("{:g} Gbit/s {}", port.gbps, port.infiniband ? "InfiniBand" : "Ethernet")
                    : std::string{"it is not active"}));
  }
  into.said.push_back(fmt::format("{}: {} ports of {:g} Gbit/s, {}", gathered.ports.front().second,
                                  best->ports, best->gbps, best->infiniband ? "InfiniBand" : "Ethernet"));
  return *best;
}

void write_network(const GatheredMachines& gathered, const GpuPreset& preset, std::int64_t per_node,
                   ImportedCluster& into, JsonObject& sources) {
  std::string network = preset.node.network;
  double gbps = preset.node.network_gbps / preset.node.gpus * static_cast<double>(per_node);
  std::string source = "the reference node of " + preset.title;
  if (const std::optional<Rail> rail = rail_of(gathered, into)) {
    network = rail->infiniband ? "ib" : "roce";
    gbps = rail->gbps * rail->ports;
    source = "ibstat: " + gathered.ports.front().second;
  } else {
    into.notes.push_back(fmt::format("the files say no rate of the network: {}{:g}/node is assumed, as in {}",
                                     network, gbps, source));
  }
  into.cluster.emplace_back("network", network);
  into.cluster.emplace_back("network_gbps", gbps);
  sources.emplace_back("network_gbps", source);
}

std::string name_of_files(const std::vector<MachineFile>& files) {
  std::string names;
  for (const MachineFile& file : files) names += (names.empty() ? "" : ", ") + file.name;
  return names;
}

}  // namespace

ImportedCluster import_cluster(const std::vector<MachineFile>& files, const MachineWords& words) {
  GatheredMachines gathered;
  for (const MachineFile& file : files) gather(file, gathered);
  ImportedCluster into;
  const auto nodes = alike_nodes(gathered, into);
  const std::string gpu = gpu_preset_of(gathered, nodes, words, files);
  const GpuPreset preset = find_gpu_preset(gpu);
  std::int64_t per_node = gpus_per_node(gathered, nodes, into);
  if (per_node == 0) {
    per_node = preset.node.gpus;
    into.notes.push_back(
        fmt::format("the files do not say the GPUs of a node: {}, as in {}", per_node, preset.title));
  }
  std::int64_t count = words.nodes;
  if (count == 0) count = std::max<std::int64_t>(1, static_cast<std::int64_t>(nodes.size()));
  if (!nodes.empty())
    into.said.push_back(fmt::format("{}: {} nodes of {} GPUs", nodes.front().second, nodes.size(), per_node));
  if (words.nodes == 0 && nodes.empty())
    into.notes.emplace_back("the files are one node's: say --nodes N for more");

  JsonObject sources{{"nodes", name_of_files(files)}};
  into.cluster = {
      {"title", words.title.empty() ? fmt::format("{} × {} {}", count, per_node, preset.title) : words.title},
      {"gpu", gpu},
      {"nodes", count},
      {"gpus_per_node", per_node}};
  write_network(gathered, preset, per_node, into, sources);
  if (!nodes.empty() && nodes.front().first.memory_mib > 0)
    into.cluster.emplace_back("host_memory", fmt::format("{} MiB", nodes.front().first.memory_mib));
  into.cluster.emplace_back("sources", std::move(sources));
  note_differences(gathered, preset, into);
  return into;
}

ImportedCluster import_cluster_files(const std::vector<std::string>& paths, const MachineWords& words) {
  std::vector<MachineFile> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) files.push_back({path, read_text_file(path, kLargestMachineFile)});
  return import_cluster(files, words);
}

}  // namespace hexaplan::presets
