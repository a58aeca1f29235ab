#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/spec/dtype.h"
#include "costmodel/spec/reliability.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// One GPU type, from its datasheet.
struct GpuSpec {
  std::string name;  // preset name, e.g. "h100-80-sxm"
  std::string
      architecture;  // "ampere", "hopper", "blackwell", "volta", "ada", "cdna2", "cdna3": NCCL's tables
  Bytes memory;      // as the driver reports it in total (cudaMemGetInfo), not the marketing figure
  BytesPerSecond memory_bandwidth;
  std::array<FlopsPerSecond, kPrecisionCount> peak{};  // dense, by Precision; 0 = the device has no such unit
  FlopsPerSecond peak_integer;  // products of signed 8-bit integers, dense; 0 = not known
  FlopsPerSecond peak_vector;   // fp32 on the CUDA cores
  int sm_count = 0;
  double power_watts = 0;
  double price_per_hour = 0;  // US dollars per GPU-hour; 0 = unknown
  BytesPerSecond pcie;        // per direction, host link
  [[nodiscard]] FlopsPerSecond peak_of(Precision p) const { return peak[static_cast<std::size_t>(p)]; }
};

enum class Fabric : std::uint8_t { NvLink, NvSwitch, Pcie, Network, InfinityFabric };

/// Most levels of a cluster: links inside nodes and racks, then the tiers of its network.
inline constexpr std::size_t kMostLevels = 8;

/// One level of the interconnect, smallest first: `ranks` consecutive GPUs are reachable at this level. The
/// smallest network level is the nodes' cards; what lies above are tiers of switches, or sites.
struct NetworkLevel {
  std::string name;  // "nvlink4", "ib-ndr", "spine"
  Fabric fabric = Fabric::Network;
  std::int64_t ranks = 0;  // GPUs inside one unit of this level (8 per NVLink node, 72 per NVL72 rack, world)
  BytesPerSecond bandwidth;  // per GPU and direction; of a tier: from the units below up into it
  Seconds latency;           // one hop; of a tier: on top of that of the levels below
  bool multicast = false;    // NVLink SHARP (NVLS)
  /// GPUs of equal rank in their nodes share a leaf switch; others meet one tier higher.
  bool rail_optimised = false;
};

/// What a node has beside its GPUs: where offloaded tensors live. 0 = not known.
struct HostSpec {
  Bytes memory;                          // of one node
  BytesPerSecond memory_bandwidth;       // of all its channels
  Bytes disk;                            // local NVMe drives
  BytesPerSecond disk_read, disk_write;  // of all drives together
};

struct ClusterSpec {
  std::string name;  // as the user wrote it: "64xA100-80GB"
  GpuSpec gpu;
  std::int64_t gpus = 0;
  int gpus_per_node = 0;
  HostSpec host;
  Reliability reliability;           // as its file has it
  std::vector<NetworkLevel> levels;  // [0] = inside the node (or rack); last spans all gpus; <= kMostLevels
};

/// The level of the nodes' network cards, nullptr without a network.
[[nodiscard]] inline const NetworkLevel* network_cards(const ClusterSpec& cluster) {
  for (const NetworkLevel& level : cluster.levels) {
    if (level.fabric == Fabric::Network) return &level;
  }
  return nullptr;
}
/// The same, or what joins the GPUs of a cluster without a network.
[[nodiscard]] inline const NetworkLevel& cards_or_links(const ClusterSpec& cluster) {
  const NetworkLevel* cards = network_cards(cluster);
  return cards != nullptr ? *cards : cluster.levels.back();
}
/// Whether the network has tiers above the cards' level.
[[nodiscard]] inline bool has_tiers(const ClusterSpec& cluster) {
  return network_cards(cluster) != nullptr && network_cards(cluster) != &cluster.levels.back();
}

}  // namespace hexaplan::costmodel
