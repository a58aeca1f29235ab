#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::costmodel {

/// A tier of the network above the nodes' cards that a group crosses.
struct CrossedTier {
  double units = 1;    // below the tier, that the group touches
  double members = 1;  // of the group in one of them
  double rate = 0;     // the group's share of what leads from one unit up, bytes per second and direction
  double latency = 0;  // seconds that a message through the tier takes longer
};

/// The links a group talks over. A domain is what NVLink, PCIe or Infinity Fabric connects: a node, or an
/// NVL72 rack.
struct GroupLinks {
  double ranks = 1;
  double domains = 1;     // that the group touches
  double per_domain = 1;  // members in one
  bool pcie = false;
  bool switched = false;   // any pair gets the full rate
  bool multicast = false;  // NVLS
  // Attainable bytes per second and direction.
  double inside = 0;       // one GPU's links into the domain, as far as the group's members are at their ends
  double inside_pair = 0;  // between two GPUs of a domain
  double cards = 0;        // the group's share of one domain's network cards; 0 = stays inside
  double outside = 0;      // the same through the narrowest tier that it crosses
  double outside_pair = 0;  // of one member, likewise
  std::array<CrossedTier, kMostLevels> tiers{};
  std::size_t tier_count = 0;
  /// Messages to another rank inside another node first take NVLink to the card on that rank's rail (NCCL's
  /// PXN).
  bool forwards = false;
};

/// Domain, rates and shares of a placed group.  [docs/formulas.md#C6]  One network card per GPU: k members in
/// a domain use k cards, less when `sharing` groups ask for more than there are. Above the cards, a group
/// counts on the links upwards of as many GPUs of a unit as GroupPlacement::uplinks says: all groups of its
/// kind talk at once and share a tier's oversubscribed links alike.  [docs/formulas.md#C13]
[[nodiscard]] GroupLinks links_of(const GroupPlacement& group, const ClusterSpec& cluster,
                                  const NetworkModel& network);

/// Index of the level up to which a group's messages go. On a rail-optimised level, those between unlike
/// ranks of their nodes take the tier above it, unless NVLink brings them to the right card.
[[nodiscard]] std::size_t highest_level(const GroupPlacement& group, const ClusterSpec& cluster);

}  // namespace hexaplan::costmodel
