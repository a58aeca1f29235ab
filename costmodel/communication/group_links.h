#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::costmodel {

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
  double outside = 0;      // the group's share of one domain's network cards; 0 = stays inside
  double outside_pair = 0;  // of one member
};

/// Domain, rates and shares of a placed group.  [docs/formulas.md#C6]  One network card per GPU: k members in
/// a domain use k cards, less when `sharing` groups ask for more than there are.
[[nodiscard]] GroupLinks links_of(const GroupPlacement& group, const ClusterSpec& cluster,
                                  const NetworkModel& network);

}  // namespace hexaplan::costmodel
