// Reads one collective per line from standard input and prints its modelled time in microseconds: the cost
// model's own formulas for fit_fabric.py. Columns: kind bytes ranks members_per_node node_ranks sharing
// architecture fabric inside_GBps card_GBps bandwidth_efficiency base_us hop_us congestion_per_doubling
// congestion_free_nodes
#include <cstdio>
#include <iostream>
#include <string>

#include "costmodel/communication/collective_time.h"

namespace {

using namespace hexaplan::costmodel;

Fabric fabric_of(const std::string& name) {
  return name == "switch" ? Fabric::NvSwitch : name == "mesh" ? Fabric::NvLink : Fabric::Pcie;
}

}  // namespace

int main() {
  int kind = 0;
  double bytes = 0, inside = 0, card = 0, base = 0, hop = 0;
  std::string fabric;
  GroupPlacement group;
  ClusterSpec cluster;
  Calibration calibration;
  std::int64_t members = 0, node = 0;
  while (std::cin >> kind >> bytes >> group.ranks >> members >> node >> group.sharing >>
         cluster.gpu.architecture >> fabric >> inside >> card >> calibration.network.bandwidth_efficiency >>
         base >> hop >> calibration.network.congestion_per_doubling >>
         calibration.network.congestion_free_nodes) {
    group.levels = 2;
    group.within = {members, group.ranks, group.ranks, group.ranks};
    calibration.network.base_latency = Seconds{base * 1e-6};
    calibration.network.hop_latency = Seconds{hop * 1e-6};
    const bool multicast = fabric == "switch" && cluster.gpu.architecture != "ampere";
    cluster.levels = {{"", fabric_of(fabric), node, BytesPerSecond{inside * 1e9}, Seconds{}, multicast},
                      {"", Fabric::Network, 1 << 20, BytesPerSecond{card * 1e9}, Seconds{}, false}};
    const CollectiveCost cost =
        collective_cost(static_cast<CollectiveKind>(kind), Bytes{bytes}, group, cluster, calibration);
    std::printf("%.6g\n", cost.time.value() * 1e6);
  }
}
