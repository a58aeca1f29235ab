#include <gtest/gtest.h>

#include <string>

#include "clusters.h"
#include "costmodel/communication/collective_time.h"
#include "costmodel/communication/group_links.h"

namespace hexaplan::costmodel {
namespace {

using namespace literals;

constexpr double kCard = 50e9;

/// 32 nodes of 8 GPUs on cards of 50 GB/s, in pods of 64 GPUs; `ratio` times less leads from one to another.
ClusterSpec pods(double ratio, Seconds latency = {}) {
  ClusterSpec cluster = h100_nodes(32);
  cluster.levels[1].ranks = 64;
  cluster.levels.push_back({.name = "spine",
                            .fabric = Fabric::Network,
                            .ranks = 256,
                            .bandwidth = BytesPerSecond{kCard / ratio},
                            .latency = latency});
  return cluster;
}
Seconds time_of(CollectiveKind kind, Bytes payload, const Layout& layout, Group group,
                const ClusterSpec& cluster) {
  Calibration ideal;
  ideal.network.bandwidth_efficiency = 1;
  return collective_cost(kind, payload, place_group(layout, group, cluster), cluster, ideal).time;
}

/// A large message over a group, as bytes per second.
struct RateCase {
  std::string name;
  CollectiveKind kind;
  Layout layout;
  Group group;
  double ratio;
  double share;  // of the payload that crosses the narrowest links of one member
  double rate;   // of these links, per member of the group there
};
TEST(network_tiers, carry_what_the_groups_of_a_kind_have_in_common) {
  // tp8: 8 data-parallel groups of 32, one member per node, 8 of them in a pod.
  const Layout wide{.dp = 32, .tp = 8}, staged{.dp = 8, .tp = 8, .pp = 4};
  const RateCase cases[] = {
      // The ring of a group leaves the pod once: its 8 members' uplinks carry what one card does.
      {"a_ring_within_the_uplinks", CollectiveKind::AllGather, wide, Group::Data, 8, 31.0 / 32, kCard},
      {"a_ring_beyond_them", CollectiveKind::AllGather, wide, Group::Data, 32, 31.0 / 32, 8 * kCard / 32},
      // 24 of 32 pieces leave the pod, through 1/8 of a card each.
      {"all_to_all", CollectiveKind::AllToAll, wide, Group::Data, 8, 24.0 / 32, kCard / 8},
      // Stages are whole pods: every GPU sends to the next one at once.
      {"stages_in_pods_of_their_own", CollectiveKind::SendRecv, staged, Group::Pipeline, 8, 1, kCard / 8},
      {"inside_a_pod", CollectiveKind::AllGather, staged, Group::Data, 1000, 7.0 / 8, kCard}};
  for (const RateCase& row : cases) {
    const Bytes payload{1e13};
    const double seconds = time_of(row.kind, payload, row.layout, row.group, pods(row.ratio)).value();
    EXPECT_NEAR(row.share * payload.value() / seconds / row.rate, 1, 0.01) << row.name;
  }
}

TEST(network_tiers, add_their_latency_to_every_message_that_crosses_them) {
  const Layout wide{.dp = 32, .tp = 8};
  const auto added = [&](CollectiveKind kind, Group group, const Layout& layout) {
    const Bytes payload{8e9};
    return (time_of(kind, payload, layout, group, pods(1, 1_ms)) -
            time_of(kind, payload, layout, group, pods(1)))
               .value() *
           1e3;
  };
  // Four pods: a gathering ring crosses three times, whoever sends directly once.
  EXPECT_NEAR(added(CollectiveKind::AllGather, Group::Data, wide), 2, 1.01);
  EXPECT_NEAR(added(CollectiveKind::AllToAll, Group::Data, wide), 1, 1e-6);
  EXPECT_NEAR(added(CollectiveKind::SendRecv, Group::Pipeline, {.dp = 8, .tp = 8, .pp = 4}), 1, 1e-6);
  EXPECT_EQ(added(CollectiveKind::AllGather, Group::Data, {.dp = 8, .tp = 8, .pp = 4}), 0);
}

TEST(network_tiers, of_rails_are_crossed_between_unlike_ranks_of_nodes) {
  ClusterSpec cluster = pods(8);
  cluster.levels[1].rail_optimised = true;
  struct RailCase {
    std::string name;
    Layout layout;
    Group group;
    std::size_t level;  // that messages reach
  };
  const RailCase cases[] = {{"one_rail", {.dp = 8, .tp = 8, .pp = 4}, Group::Data, 1},
                            {"all_rails_of_every_node", {.dp = 64, .pp = 4}, Group::Data, 1},
                            {"every_second_rail", {.dp = 32, .tp = 2, .pp = 4}, Group::Data, 1},
                            {"every_third_gpu", {.dp = 16, .tp = 3}, Group::Data, 2},
                            {"further_than_a_unit", {.dp = 32, .tp = 8}, Group::Data, 2},
                            {"inside_a_node", {.dp = 32, .tp = 8}, Group::Tensor, 0}};
  for (const RailCase& row : cases) {
    EXPECT_EQ(highest_level(place_group(row.layout, row.group, cluster), cluster), row.level) << row.name;
  }
}

TEST(network_tiers, of_rails_make_messages_to_other_rails_take_nvlink_first) {
  const Layout layout{.dp = 64, .pp = 4};
  ClusterSpec plain = pods(1), rails = plain;
  rails.levels[1].rail_optimised = true;
  const auto slower = [&](CollectiveKind kind) {
    return time_of(kind, 1_GiB, layout, Group::Data, rails) >
           time_of(kind, 1_GiB, layout, Group::Data, plain);
  };
  EXPECT_TRUE(slower(CollectiveKind::AllToAll));
  EXPECT_TRUE(slower(CollectiveKind::SendRecv));
  EXPECT_FALSE(slower(CollectiveKind::AllGather));  // rings keep to their rail
}

TEST(network_tiers, that_cut_groups_in_unlike_parts_count_the_worst_cut) {
  // Groups of 48 GPUs in units of 64: some lie across a border.
  const Layout layout{.dp = 6, .tp = 8, .pp = 4};
  ClusterSpec cluster = pods(8);
  cluster.gpus = cluster.levels[2].ranks = 192;
  const GroupPlacement place = place_group(layout, Group::Data, cluster);
  EXPECT_EQ(place.within[1], 3);
  EXPECT_EQ(place.uplinks[1], 4);  // two blocks of eight groups share the 64 uplinks of a unit
  EXPECT_EQ(highest_level(place, cluster), 2u);
}

}  // namespace
}  // namespace hexaplan::costmodel
