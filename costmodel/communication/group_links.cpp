#include "costmodel/communication/group_links.h"

#include <algorithm>
#include <cmath>

#include "costmodel/communication/nccl_tuning.h"
#include "costmodel/units/mutation.h"

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

/// Share of a card's rate left when `groups` share the cards of a node.
double uncontended_share(const NetworkModel& network, std::int64_t groups) {
  if (network.contention_per_doubling == 0 || groups <= 1) return 1.0;
  return std::pow(1.0 - network.contention_per_doubling, std::log2(static_cast<double>(groups)));
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

/// The tiers above the level `cards` up to `highest`. `of_node`: cards of one domain that are the group's.
void add_tiers(GroupLinks& links, const GroupPlacement& group, const ClusterSpec& cluster, std::size_t cards,
               std::size_t highest, const NetworkModel& network, double of_node) {
  if (mutant("tiers-carry-everything")) return;
  const double uncongested = uncongested_share(network, links.domains);
  for (std::size_t i = cards + 1; i <= highest; ++i) {
    const bool off_rail = cluster.levels[i - 1].rail_optimised && !group.equal_rails;
    const double members = off_rail ? links.per_domain : static_cast<double>(group.within[i - 1]);
    const double uplinks = off_rail ? of_node : static_cast<double>(group.uplinks[i - 1]);
    const double each = cluster.levels[i].bandwidth.value() * network.bandwidth_efficiency * uncongested;
    const CrossedTier tier{.units = std::ceil(links.ranks / members),
                           .members = members,
                           .rate = each * uplinks,
                           .latency = cluster.levels[i].latency.value()};
    links.outside = std::min(links.outside, tier.rate);
    links.outside_pair = std::min(links.outside_pair, tier.rate);
    links.tiers[links.tier_count++] = tier;
  }
}

std::size_t levels_of(const GroupPlacement& group, const ClusterSpec& cluster) {
  return std::min(cluster.levels.size(), static_cast<std::size_t>(group.levels));
}

}  // namespace

std::size_t highest_level(const GroupPlacement& group, const ClusterSpec& cluster) {
  const std::size_t levels = levels_of(group, cluster);
  std::size_t highest = 0;
  while (highest + 1 < levels && group.within[highest] < group.ranks) ++highest;
  const bool off_rail = levels > 0 && cluster.levels[highest].rail_optimised && !group.equal_rails;
  return off_rail && highest + 1 < levels ? highest + 1 : highest;
}

GroupLinks links_of(const GroupPlacement& group, const ClusterSpec& cluster, const NetworkModel& network) {
  GroupLinks links;
  links.ranks = static_cast<double>(group.ranks);
  links.domains = links.ranks;
  const std::size_t levels = levels_of(group, cluster);
  if (levels == 0) return links;
  const std::size_t highest = highest_level(group, cluster);
  std::size_t network_level = levels;  // of the cards; as it is: none on the way
  double domain_ranks = 1;
  for (std::size_t i = 0; i <= highest && network_level == levels; ++i) {
    const NetworkLevel& level = cluster.levels[i];
    if (level.fabric == Fabric::Network) {
      network_level = i;
    } else {
      links.per_domain = static_cast<double>(group.within[i]);
      domain_ranks = static_cast<double>(level.ranks);
      set_inside(links, level, nccl::architecture_of(cluster.gpu.architecture));
    }
  }
  links.domains = std::ceil(links.ranks / links.per_domain);
  if (links.domains <= 1 || network_level == levels) return links;
  const NetworkLevel& of_cards = cluster.levels[network_level];
  double cards = of_cards.bandwidth.value() * network.bandwidth_efficiency;
  if (network.ceiling.value() > 0) {
    cards = std::min(cards, network.ceiling.value());
  }
  cards *= uncongested_share(network, links.domains) * uncontended_share(network, group.sharing);
  const double of_group = domain_ranks / static_cast<double>(std::max<std::int64_t>(1, group.sharing));
  links.cards = links.outside = cards * std::min(links.per_domain, of_group);
  links.outside_pair = cards * std::min(1.0, of_group);
  links.forwards = of_cards.rail_optimised && group.equal_rails && links.per_domain > 1;
  add_tiers(links, group, cluster, network_level, highest, network, std::min(links.per_domain, of_group));
  return links;
}

}  // namespace hexaplan::costmodel
