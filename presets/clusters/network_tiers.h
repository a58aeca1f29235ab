#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/cluster_spec.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// A tier of the network as files and texts ask for it, smallest first: leaf switches of a scalable unit,
/// pods, spine, sites.
struct NetworkTier {
  std::string name;
  std::int64_t gpus = 0;  // of one unit; 0 = all, the last tier's
  /// Rate from the units below up into the tier, against what their own tier carries; of the first tier that
  /// of the cards.
  double oversubscription = 1;
  double uplink_gbps = 0;      // the same as Gbit/s of one whole unit below; 0 = by `oversubscription`
  costmodel::Seconds latency;  // that a message through the tier takes longer
  bool rail_optimised = false;
  friend bool operator==(const NetworkTier&, const NetworkTier&) = default;
};

/// "tier:pod:3072", "tier:su:256:rail", "tier:spine:x7:2us", "tier:wan:12800gbps:20ms": what follows the
/// name, in any order. Nothing when `part` is no tier. InputError with `whole` when it is a wrong one.
[[nodiscard]] std::optional<NetworkTier> read_tier_part(std::string_view part, std::string_view whole);
/// The text that asks for it.
[[nodiscard]] std::string to_text(const NetworkTier& tier);
/// The list `network_tiers` of a cluster's file, whose nodes have `per_node` GPUs.
[[nodiscard]] std::vector<NetworkTier> read_tiers(const ValueReader& list, std::int64_t per_node);

/// Makes the tiers levels above `cluster`'s last one, which must be its nodes' cards; as far up as its GPUs
/// reach. InputError when units do not nest, or something has no effect where it stands.
void append_tiers(const std::vector<NetworkTier>& tiers, costmodel::ClusterSpec& cluster);

/// What joins the cluster's nodes: "ib400", "roce400 pod of 3,072 GPUs, aggregation 1:7".
[[nodiscard]] std::string network_text(const costmodel::ClusterSpec& cluster);

}  // namespace hexaplan::presets
