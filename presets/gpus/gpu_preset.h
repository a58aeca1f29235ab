#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::presets {

/// The server (or rack) that a GPU type is usually built into: what "64xH100" stands for.
struct ReferenceNode {
  int gpus = 0;  // that share a host and its network cards
  /// Links inside the node, smallest first. Level::ranks may exceed `gpus`: an NVL72 rack.
  std::vector<costmodel::NetworkLevel> links;
  std::string network;  // "ib", "roce", "efa", "slingshot", "omni-path", "ethernet": kNetworks of
                        // clusters/cluster_preset.h
  costmodel::HostSpec host;
  double network_gbps = 0;  // Gbit/s of all network cards of one node together
};

struct GpuPreset {
  costmodel::GpuSpec spec;
  std::string title;  // "NVIDIA H100 SXM5 80GB"
  ReferenceNode node;
  std::vector<std::pair<std::string, std::string>> sources;  // field → where its number comes from
};

/// Reads one file of presets/gpus. InputError when a number has no source.
[[nodiscard]] GpuPreset read_gpu_preset(const std::filesystem::path& path);
/// By name or alias: "h100-80-sxm", "H100", "A100-80GB".
[[nodiscard]] GpuPreset find_gpu_preset(std::string_view name);
[[nodiscard]] costmodel::GpuSpec find_gpu(std::string_view name);
/// The preset of the GPU in a device's description, which has it as the driver calls it: "NVIDIA H100 80GB
/// HBM3", "cuda:0 NVIDIA H200, bfloat16", "Tesla V100-SXM2-16GB". Nothing when none has such a name or alias.
[[nodiscard]] std::optional<std::string> gpu_of_device(std::string_view description);

}  // namespace hexaplan::presets
