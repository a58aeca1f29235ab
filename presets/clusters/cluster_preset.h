#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/cluster_spec.h"
#include "presets/clusters/network_tiers.h"
#include "presets/gpus/gpu_preset.h"

namespace hexaplan::presets {

/// Kinds of network between nodes, by the word users write: "+ib400".
struct NetworkKind {
  std::string_view name;
  costmodel::Seconds latency;  // one hop
  bool rate_per_node;          // a bare rate means the node's, not the GPU's
};
/// "ib", "roce", "efa", "slingshot", "omni-path", "ethernet". InputError for anything else.
[[nodiscard]] const NetworkKind& find_network(std::string_view name);
[[nodiscard]] std::vector<std::string> network_names();

/// What the text of a cluster asks for; 0 and empty = as in the GPU's reference node.
struct ClusterRequest {
  std::string name;  // as the user wrote it
  std::string gpu;
  std::int64_t gpus = 0;   // when nodes == 0
  std::int64_t nodes = 0;  // 0: as many as needed
  std::int64_t per_node = 0;
  std::string network;
  double gbps_per_gpu = 0;  // Gbit/s; at most one of the two is given
  double gbps_per_node = 0;
  costmodel::Bytes host_memory, disk;  // of a node
  std::vector<NetworkTier> tiers;      // none: all nodes reach each other at the rate of their cards
  costmodel::Reliability reliability;  // of a file
};

/// A cluster as users write it:
///   8xH100               8 GPUs in reference nodes of their type (ReferenceNode of the GPU preset)
///   16x8xH200            16 nodes of 8; for GPUs of NVLink racks: 16 racks of 8
///   …+ib400 +roce400     network and its rate in Gbit/s per GPU; "/node" makes it the node's
///   …+efa3200            EFA, per node; "/gpu" makes it one GPU's
///   …+host1TiB +nvme8TB  memory of a node, for offloaded tensors, and its local drives
///   …+tier:pod:3072 +tier:spine:x7:2us   tiers of the network, from below (read_tier_part)
///   eos                  a file of presets/clusters, by name or alias; "+…" may follow
/// InputError says what is not understood.
[[nodiscard]] costmodel::ClusterSpec parse_cluster(std::string_view text);
/// The same, before the GPU is looked up: for whoever lets people edit the parts.
[[nodiscard]] ClusterRequest parse_cluster_request(std::string_view text);
/// The text that asks for it. Precondition: gpus or nodes and per_node are given, and so is the GPU.
[[nodiscard]] std::string to_cluster_text(const ClusterRequest& request);

/// From fields. 0 = as in the GPU's reference node: `gpus_per_node`, `node_nic_gbps` (Gbit/s of all network
/// cards of a node). The last node may be partly filled.
[[nodiscard]] costmodel::ClusterSpec make_cluster(std::string_view gpu, std::int64_t gpus,
                                                  int gpus_per_node = 0, double node_nic_gbps = 0,
                                                  std::string_view network = {});
/// The same of a GPU that has been read.
[[nodiscard]] costmodel::ClusterSpec make_cluster(const GpuPreset& gpu, std::int64_t gpus, int gpus_per_node,
                                                  double node_nic_gbps, std::string_view network);

}  // namespace hexaplan::presets
