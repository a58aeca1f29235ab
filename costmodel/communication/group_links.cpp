#include "costmodel/communication/group_links.h"

#include <algorithm>
#include <cmath>

#include "costmodel/communication/nccl_tuning.h"

namespace hexaplan::costmodel {
namespace {

/// Share of the network's rate left when `domains` talk to each other.
double uncongested_share(const NetworkModel& network, double domains) {
  const double free = std::max(1.0, network.congestion_free_nodes);
  if (network.congestion_per_doubling <= 0 || domains <= free) {
    return 1.0;
  }
  return std::pow(1.0 - network.congestion_per_doubling, std::log2(domains / free));
}

/// Without a switch the links are split evenly over the peers of the domain (hybrid cube mesh, Infinity
/// Fabric).
double reachable_share(const GroupLinks& links, double domain_ranks) {
  return links.switched || links.pcie || domain_ranks <= 1
             ? 1.0
             : std::min(1.0, (links.per_domain - 1) / (domain_ranks - 1));
}

void set_inside(GroupLinks& links, const NetworkLevel& level, const nccl::Architecture& architecture) {
  links.pcie = level.fabric == Fabric::Pcie;
  links.switched = level.fabric == Fabric::NvSwitch;
  links.multicast = level.multicast && architecture.nvls_channels > 0;
  const double domain_ranks = static_cast<double>(level.ranks);
  const double rate =
      level.bandwidth.value() * (links.pcie ? nccl::kPcieEfficiency : architecture.nvlink_efficiency);
  links.inside = rate * reachable_share(links, domain_ranks);
  links.inside_pair = links.switched || links.pcie || domain_ranks <= 1 ? rate : rate / (domain_ranks - 1);
}

}  // namespace

GroupLinks links_of(const GroupPlacement& group, const ClusterSpec& cluster, const NetworkModel& network) {
  GroupLinks links;
  links.ranks = static_cast<double>(group.ranks);
  const auto levels = std::min(cluster.levels.size(), static_cast<std::size_t>(group.levels));
  double domain_ranks = 1;
  double cards = 0;  // slowest network level on the way
  for (std::size_t i = 0; i < levels; ++i) {
    const NetworkLevel& level = cluster.levels[i];
    if (level.fabric == Fabric::Network) {
      const double rate = level.bandwidth.value();
      cards = cards == 0 ? rate : std::min(cards, rate);
    } else {
      links.per_domain = static_cast<double>(group.within[i]);
      domain_ranks = static_cast<double>(level.ranks);
      set_inside(links, level, nccl::architecture_of(cluster.gpu.architecture));
    }
    if (group.within[i] >= group.ranks) {
      break;
    }
  }
  links.domains = std::ceil(links.ranks / links.per_domain);
  if (links.domains > 1) {
    cards *= network.bandwidth_efficiency;
    if (network.ceiling.value() > 0) {
      cards = std::min(cards, network.ceiling.value());
    }
    cards *= uncongested_share(network, links.domains);
    const double of_group = domain_ranks / static_cast<double>(std::max<std::int64_t>(1, group.sharing));
    links.outside = cards * std::min(links.per_domain, of_group);
    links.outside_pair = cards * std::min(1.0, of_group);
  }
  return links;
}

}  // namespace hexaplan::costmodel
