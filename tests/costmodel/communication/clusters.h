#pragma once
#include <algorithm>
#include <string>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::costmodel {

inline ClusterSpec cluster_of(std::int64_t nodes, const std::string& architecture, Fabric fabric,
                              double inside_gbps, double card_gbps, std::int64_t domain = 8) {
  ClusterSpec cluster;
  cluster.gpu.architecture = architecture;
  cluster.gpus = nodes * domain;
  cluster.gpus_per_node = static_cast<int>(domain);
  const bool nvls = fabric == Fabric::NvSwitch && architecture != "ampere";
  cluster.levels = {
      {"inside", fabric, domain, BytesPerSecond{inside_gbps * 1e9}, Seconds{}, nvls},
      {"network", Fabric::Network, nodes * domain, BytesPerSecond{card_gbps * 1e9}, Seconds{}, false}};
  return cluster;
}
inline ClusterSpec h100_nodes(std::int64_t nodes) {
  return cluster_of(nodes, "hopper", Fabric::NvSwitch, 450, 50);
}
inline ClusterSpec a100_nodes(std::int64_t nodes) {
  return cluster_of(nodes, "ampere", Fabric::NvSwitch, 300, 25);
}

/// `ranks` members, `per_node` of them in each node; the node's other GPUs belong to groups of the same kind.
inline GroupPlacement placed(std::int64_t ranks, std::int64_t per_node, std::int64_t node = 8) {
  GroupPlacement group;
  group.ranks = ranks;
  group.levels = 2;
  group.within = {std::min(ranks, per_node), ranks, ranks, ranks};
  group.sharing = ranks > per_node ? node / per_node : 1;
  return group;
}

}  // namespace hexaplan::costmodel
