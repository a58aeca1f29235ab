#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "costmodel/communication/collective_time.h"
#include "tests/costmodel/properties/accepted_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// The cluster with a tier above units of some nodes, from one of which to another 1/ratio of the cards' rate
/// leads. As it is where it has no network.
ClusterSpec with_tier(ClusterSpec cluster, std::int64_t nodes, double ratio, Seconds latency = {}) {
  if (network_cards(cluster) == nullptr) return cluster;
  NetworkLevel tier = cluster.levels.back();
  cluster.levels.back().ranks = std::min(cluster.gpus, nodes * cluster.gpus_per_node);
  tier.name = "spine";
  tier.bandwidth = tier.bandwidth / ratio;
  tier.latency = latency;
  cluster.levels.push_back(tier);
  return cluster;
}
std::int64_t any_nodes() {
  return *rc::gen::inRange<std::int64_t>(1, 65);
}
double any_ratio() {
  return 1 + *rc::gen::inRange(0, 900) / 100.0;
}

struct TieredQuestion {
  CollectiveKind kind;
  Bytes payload;
  Group group;
  Scenario scenario;
  Calibration calibration;
  [[nodiscard]] Seconds on(const ClusterSpec& cluster) const {
    return collective_cost(kind, payload, place_group(scenario.layout, group, cluster), cluster, calibration)
        .time;
  }
};
TieredQuestion any_tiered_question() {
  const std::vector<CollectiveKind> kinds{CollectiveKind::AllReduce,     CollectiveKind::AllGather,
                                          CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                          CollectiveKind::SendRecv,      CollectiveKind::Broadcast};
  return {.kind = *rc::gen::elementOf(kinds),
          .payload = Bytes{static_cast<double>(*rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 36))},
          .group = static_cast<Group>(*rc::gen::inRange(0, kLayoutGroups)),
          .scenario = *support::any_scenario(),
          .calibration = *support::any_calibration()};
}

RC_GTEST_PROP(network_tiers_laws, without_oversubscription_a_collective_takes_what_it_takes_on_a_flat_network,
              ()) {
  const TieredQuestion q = any_tiered_question();
  const ClusterSpec& flat = q.scenario.cluster;
  RC_ASSERT(q.on(with_tier(flat, any_nodes(), 1)) == q.on(flat));
}

RC_GTEST_PROP(network_tiers_laws, more_oversubscription_or_latency_never_speeds_a_collective_up, ()) {
  const TieredQuestion q = any_tiered_question();
  const std::int64_t nodes = any_nodes();
  const double ratio = any_ratio(), more = ratio * any_ratio();
  const Seconds latency{*rc::gen::inRange(0, 1000) * 1e-6};
  const ClusterSpec& flat = q.scenario.cluster;
  RC_ASSERT(at_most(q.on(with_tier(flat, nodes, ratio)), q.on(with_tier(flat, nodes, more))));
  RC_ASSERT(at_most(q.on(with_tier(flat, nodes, ratio)), q.on(with_tier(flat, nodes, ratio, latency))));
}

RC_GTEST_PROP(network_tiers_laws, a_group_inside_a_unit_does_not_see_what_lies_above_it, ()) {
  const TieredQuestion q = any_tiered_question();
  const ClusterSpec tiered = with_tier(q.scenario.cluster, any_nodes(), 100, Seconds{1});
  const GroupPlacement place = place_group(q.scenario.layout, q.group, tiered);
  const bool inside =
      place.levels > 1 && place.within[static_cast<std::size_t>(place.levels - 2)] == place.ranks;
  RC_PRE(inside);
  RC_ASSERT(q.on(tiered) == q.on(q.scenario.cluster));
}

RC_GTEST_PROP(network_tiers_laws, a_job_inside_a_unit_takes_the_same_step_whatever_lies_above, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  Scenario tiered = s;
  tiered.cluster = with_tier(s.cluster, s.cluster.gpus, 100, Seconds{1});
  RC_ASSERT(estimate_step(tiered, c).time.total() == estimate_step(s, c).time.total());
}

RC_GTEST_PROP(network_tiers_laws, without_oversubscription_the_step_is_that_of_a_flat_network, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  Scenario tiered = s;
  tiered.cluster = with_tier(s.cluster, any_nodes(), 1);
  const Estimate flat = estimate_step(s, c), with = estimate_step(tiered, c);
  RC_ASSERT(with.time.total() == flat.time.total());
  RC_ASSERT(with.peak().device == flat.peak().device);
}

RC_GTEST_PROP(network_tiers_laws, more_oversubscription_never_makes_a_step_faster, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  const std::int64_t nodes = any_nodes();
  const double ratio = any_ratio();
  Scenario less = s, more = s;
  less.cluster = with_tier(s.cluster, nodes, ratio);
  more.cluster = with_tier(s.cluster, nodes, ratio * any_ratio());
  RC_ASSERT(at_most(estimate_step(less, c).time.total(), estimate_step(more, c).time.total()));
}

/// Looks at every group of every rank: what is said to lie inside a unit does, and the groups that leave one
/// are not promised more uplinks than it has.
RC_GTEST_PROP(network_tiers_laws, no_unit_gives_its_uplinks_away_twice, ()) {
  const Scenario s = *rc::gen::suchThat(support::any_scenario(), [](const Scenario& x) {
    return x.layout.world_size() > 8 && x.layout.world_size() <= 96;
  });
  const auto group = static_cast<Group>(*rc::gen::inRange(0, kLayoutGroups));
  RC_PRE(group != Group::Mirror);  // of stages at unlike distances: the farthest counts
  const ClusterSpec cluster = with_tier(s.cluster, *rc::gen::inRange<std::int64_t>(1, 12), 2);
  const GroupPlacement place = place_group(s.layout, group, cluster);
  RC_PRE(place.ranks > 1);
  const std::int64_t unit = cluster.levels[1].ranks;
  std::map<std::int64_t, std::set<std::int64_t>> leaving;  // unit → first members of the groups that leave it
  for (std::int64_t rank = 0; rank < s.layout.world_size(); ++rank) {
    const std::vector<std::int64_t> members = members_of(s.layout, group, rank);
    const auto leaves =
        std::any_of(members.begin(), members.end(), [&](std::int64_t m) { return m / unit != rank / unit; });
    if (leaves) leaving[rank / unit].insert(*std::min_element(members.begin(), members.end()));
  }
  // Nodes are seen by the group of rank 0, as on a flat network.
  if (place.within[0] == place.ranks || place.uplinks[1] == place.within[0]) return;
  if (place.within[1] == place.ranks) RC_ASSERT(leaving.empty());
  for (const auto& [at, groups] : leaving)
    RC_ASSERT(place.uplinks[1] * static_cast<std::int64_t>(groups.size()) <= unit);
}

}  // namespace
}  // namespace hexaplan::costmodel
