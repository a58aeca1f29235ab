#include "costmodel/communication/collective_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "clusters.h"

namespace hexaplan::costmodel {
namespace {

using namespace literals;
constexpr CollectiveKind kKinds[] = {CollectiveKind::AllReduce,     CollectiveKind::AllGather,
                                     CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                     CollectiveKind::SendRecv,      CollectiveKind::Broadcast};

double microseconds(CollectiveKind kind, Bytes payload, const GroupPlacement& group,
                    const ClusterSpec& cluster, const Calibration& calibration = {}) {
  return collective_cost(kind, payload, group, cluster, calibration).time.value() * 1e6;
}
Calibration ideal_network() {
  Calibration calibration;
  calibration.network.bandwidth_efficiency = 1.0;
  return calibration;
}

struct Place {
  std::string name;
  GroupPlacement group;
  ClusterSpec cluster;
};
std::vector<Place> places() {
  return {{"two in a node", placed(2, 2), h100_nodes(1)},
          {"a node", placed(8, 8), h100_nodes(1)},
          {"an A100 node", placed(8, 8), a100_nodes(1)},
          {"two nodes", placed(16, 8), h100_nodes(2)},
          {"64 nodes", placed(512, 8), h100_nodes(64)},
          {"one rank per node", placed(16, 1), a100_nodes(16)},
          {"two ranks per node", placed(32, 2), a100_nodes(16)},
          {"a PCIe node", placed(8, 8), cluster_of(1, "ada", Fabric::Pcie, 32, 25)},
          {"a cube mesh", placed(4, 4), cluster_of(1, "volta", Fabric::NvLink, 150, 12.5)},
          {"an NVL72 rack", placed(72, 72), cluster_of(2, "blackwell", Fabric::NvSwitch, 900, 50, 72)}};
}

TEST(collective_cost, one_rank_and_no_bytes_are_free) {
  for (const CollectiveKind kind : kKinds) {
    EXPECT_EQ(microseconds(kind, 1_GiB, placed(1, 1), h100_nodes(1)), 0);
    EXPECT_EQ(microseconds(kind, Bytes{0}, placed(8, 8), h100_nodes(1)), 0);
  }
}

void expect_never_falling(CollectiveKind kind, const Place& place) {
  double before = 0;
  for (double size = 256; size < 3e10; size *= 1.07) {
    const double time = microseconds(kind, Bytes{size}, place.group, place.cluster);
    ASSERT_TRUE(std::isfinite(time)) << place.name;
    ASSERT_GE(time, before) << place.name << ", kind " << static_cast<int>(kind) << ", " << size << " B";
    before = time;
  }
  EXPECT_GT(before, 0);
}
TEST(collective_cost, is_finite_positive_and_never_falls_as_the_payload_grows) {
  for (const Place& place : places()) {
    for (const CollectiveKind kind : kKinds) {
      expect_never_falling(kind, place);
    }
  }
}

void expect_no_slower(CollectiveKind kind, const Place& place, const ClusterSpec& faster) {
  for (double size = 1024; size < 3e10; size *= 3) {
    EXPECT_LE(microseconds(kind, Bytes{size}, place.group, faster),
              microseconds(kind, Bytes{size}, place.group, place.cluster) * (1 + 1e-12))
        << place.name << ", kind " << static_cast<int>(kind) << ", " << size << " B";
  }
}
TEST(collective_cost, more_bandwidth_at_any_level_is_never_slower) {
  for (const Place& place : places()) {
    for (const CollectiveKind kind : kKinds) {
      ClusterSpec faster_inside = place.cluster;
      faster_inside.levels[0].bandwidth = faster_inside.levels[0].bandwidth * 1.3;
      expect_no_slower(kind, place, faster_inside);
      ClusterSpec faster_network = place.cluster;
      faster_network.levels[1].bandwidth = faster_network.levels[1].bandwidth * 1.3;
      expect_no_slower(kind, place, faster_network);
    }
  }
}

TEST(collective_cost, a_large_all_reduce_costs_a_reduce_scatter_and_an_all_gather) {
  for (const Place& place : places()) {
    const double reduce_scatter =
        microseconds(CollectiveKind::ReduceScatter, 8_GiB, place.group, place.cluster);
    const double all_gather = microseconds(CollectiveKind::AllGather, 8_GiB, place.group, place.cluster);
    const double all_reduce = microseconds(CollectiveKind::AllReduce, 8_GiB, place.group, place.cluster);
    EXPECT_GE(all_reduce, reduce_scatter) << place.name;
    EXPECT_GE(all_reduce, all_gather) << place.name;
    // Switch reduction and the two-node tree move less than the ring: down to half.
    EXPECT_LE(all_reduce, 1.02 * (reduce_scatter + all_gather)) << place.name;
    EXPECT_GE(all_reduce, 0.5 * (reduce_scatter + all_gather)) << place.name;
  }
}

TEST(collective_cost, no_algorithm_beats_the_cards_of_a_node) {
  const Calibration calibration = ideal_network();
  for (const std::int64_t nodes : {2, 3, 4, 64}) {
    for (const std::int64_t per_node : {1, 2, 4, 8}) {
      const GroupPlacement group = placed(nodes * per_node, per_node);
      const double cards = static_cast<double>(per_node) * 50e9;
      const double share = static_cast<double>(nodes - 1) / static_cast<double>(nodes);
      const double bound = share * 1e10 / cards * 1e6;
      const ClusterSpec cluster = h100_nodes(nodes);
      EXPECT_GE(microseconds(CollectiveKind::AllReduce, Bytes{1e10}, group, cluster, calibration), 2 * bound);
      EXPECT_GE(microseconds(CollectiveKind::AllGather, Bytes{1e10}, group, cluster, calibration), bound);
      EXPECT_GE(microseconds(CollectiveKind::ReduceScatter, Bytes{1e10}, group, cluster, calibration), bound);
    }
  }
}

struct BusCase {
  std::string name;
  CollectiveKind kind;
  double factor;  // nccl-tests doc/PERFORMANCE.md: bus bandwidth over payload bandwidth
};
TEST(collective_cost, a_ring_fills_the_cards_by_the_bus_bandwidth_of_nccl_tests) {
  const double n = 64;
  const BusCase cases[] = {{"all-reduce", CollectiveKind::AllReduce, 2 * (n - 1) / n},
                           {"all-gather", CollectiveKind::AllGather, (n - 1) / n},
                           {"reduce-scatter", CollectiveKind::ReduceScatter, (n - 1) / n}};
  for (const BusCase& row : cases) {
    // Slow cards: the network binds, latency vanishes.
    const ClusterSpec cluster = cluster_of(8, "ampere", Fabric::NvSwitch, 300, 10);
    const double seconds =
        microseconds(row.kind, Bytes{1e12}, placed(64, 8), cluster, ideal_network()) * 1e-6;
    EXPECT_NEAR(row.factor * 1e12 / seconds, 80e9, 0.01 * 80e9) << row.name;
  }
}

TEST(collective_cost, groups_that_share_the_cards_of_a_node_divide_them) {
  GroupPlacement alone = placed(16, 2);
  alone.sharing = 1;
  GroupPlacement shared = alone;
  shared.sharing = 4;  // 4 groups × 2 members use the 8 cards
  GroupPlacement crowded = alone;
  crowded.sharing = 8;
  const auto time = [](const GroupPlacement& group) {
    return microseconds(CollectiveKind::AllGather, 8_GiB, group, h100_nodes(8), ideal_network());
  };
  EXPECT_EQ(time(alone), time(shared));
  EXPECT_NEAR(time(crowded) / time(shared), 2.0, 0.01);
}

TEST(collective_cost, only_the_shape_of_the_group_matters_not_where_it_begins) {
  GroupPlacement near = placed(8, 1);
  GroupPlacement far = near;
  far.stride = 64;
  for (const CollectiveKind kind : kKinds) {
    EXPECT_EQ(microseconds(kind, 1_GiB, near, h100_nodes(64)),
              microseconds(kind, 1_GiB, far, h100_nodes(64)));
  }
}

TEST(collective_cost, small_messages_take_a_low_latency_protocol_and_large_ones_the_simple_one) {
  const auto choice = [](Bytes payload, const Place& place) {
    return collective_cost(CollectiveKind::AllReduce, payload, place.group, place.cluster, {});
  };
  const Place node{"node", placed(8, 8), h100_nodes(1)};
  EXPECT_NE(choice(1_KiB, node).protocol, Protocol::Simple);
  EXPECT_EQ(choice(1_GiB, node).protocol, Protocol::Simple);
  EXPECT_EQ(choice(1_GiB, node).algorithm, Algorithm::Nvls);
  const Place many{"64 nodes", placed(512, 8), a100_nodes(64)};
  EXPECT_EQ(choice(64_KiB, many).algorithm, Algorithm::Tree);  // 12 hops instead of 1022 steps
  EXPECT_EQ(choice(16_GiB, many).algorithm, Algorithm::Ring);
}

TEST(collective_cost, congestion_and_hop_latency_only_ever_cost_time) {
  Calibration slow;
  slow.network.congestion_per_doubling = 0.1;
  slow.network.congestion_free_nodes = 4;
  Calibration far;
  far.network.hop_latency = 75_us;
  const ClusterSpec cluster = h100_nodes(64);
  for (const CollectiveKind kind : kKinds) {
    const double plain = microseconds(kind, 1_GiB, placed(512, 8), cluster);
    EXPECT_GT(microseconds(kind, 1_GiB, placed(512, 8), cluster, slow), plain);
    EXPECT_GT(microseconds(kind, 1_GiB, placed(512, 8), cluster, far), plain);
    EXPECT_EQ(microseconds(kind, 1_GiB, placed(8, 8), cluster, far),
              microseconds(kind, 1_GiB, placed(8, 8), cluster));
  }
  EXPECT_EQ(microseconds(CollectiveKind::AllGather, 1_GiB, placed(32, 8), cluster, slow),
            microseconds(CollectiveKind::AllGather, 1_GiB, placed(32, 8), cluster));
}

TEST(collective_cost, groups_that_share_a_nodes_cards_lose_a_share_of_the_rate_per_doubling) {
  Calibration contended = ideal_network();
  contended.network.contention_per_doubling = 0.1;
  const ClusterSpec cluster = h100_nodes(64);
  for (const CollectiveKind kind : kKinds) {
    GroupPlacement group = placed(64, 1);
    for (const int doublings : {0, 1, 3}) {
      group.sharing = std::int64_t{1} << doublings;
      const double plain = microseconds(kind, 16_GiB, group, cluster, ideal_network());
      EXPECT_NEAR(plain / microseconds(kind, 16_GiB, group, cluster, contended), std::pow(0.9, doublings),
                  1e-3)
          << static_cast<int>(kind) << ", " << group.sharing;
    }
  }
}

TEST(collective_cost, pairs_and_all_to_alls_between_nodes_have_a_share_of_their_own) {
  Calibration shared = ideal_network();
  shared.network.pair_share = 0.5;
  shared.network.exchange_share = 0.25;
  const ClusterSpec cluster = h100_nodes(64);
  for (const CollectiveKind kind : kKinds) {
    const double share = kind == CollectiveKind::SendRecv ? 0.5 : kind == CollectiveKind::AllToAll ? 0.25 : 1;
    const auto ratio = [&](const GroupPlacement& group) {
      return microseconds(kind, 16_GiB, group, cluster, ideal_network()) /
             microseconds(kind, 16_GiB, group, cluster, shared);
    };
    EXPECT_NEAR(ratio(placed(64, 1)), share, 1e-3) << static_cast<int>(kind);
    EXPECT_EQ(ratio(placed(8, 8)), 1) << "inside a node, " << static_cast<int>(kind);
  }
}

// --- measured curves
// ----------------------------------------------------------------------------------------------

CollectiveCurve curve(std::int64_t ranks, std::vector<double> microseconds_at_1k_1m_1g) {
  return {CollectiveKind::AllGather, ranks, {{10, 20, 30}}, std::move(microseconds_at_1k_1m_1g)};
}
Calibration measured(std::vector<CollectiveCurve> curves) {
  Calibration calibration;
  calibration.collectives = std::move(curves);
  return calibration;
}

struct CurveCase {
  std::string name;
  std::int64_t ranks;
  Bytes payload;
  double microseconds;
};
TEST(measured_curves, are_read_at_their_points_between_them_and_beyond) {
  const Calibration calibration = measured({curve(2, {10, 40, 4000}), curve(8, {20, 90, 9000})});
  const CurveCase cases[] = {
      {"at a point", 8, 1_MiB, 90},
      {"between points, log-log", 8, 32_KiB, std::sqrt(20.0 * 90)},
      {"below the first point its time holds", 8, 64_B, 20},
      {"beyond the last point at the last rate", 8, 2_GiB, 9000 + (9000 - 90) * 1024.0 / 1023.0},
      {"between rank counts, log-log", 4, 1_MiB, std::sqrt(40.0 * 90)},
  };
  for (const CurveCase& row : cases) {
    const CollectiveCost cost = collective_cost(CollectiveKind::AllGather, row.payload, placed(row.ranks, 8),
                                                h100_nodes(1), calibration);
    EXPECT_TRUE(cost.measured) << row.name;
    EXPECT_NEAR(cost.time.value() * 1e6, row.microseconds, 1e-6 * row.microseconds) << row.name;
  }
}

TEST(measured_curves, of_four_ranks_stretch_to_a_rack_in_the_proportion_of_the_model) {
  const ClusterSpec rack = cluster_of(1, "blackwell", Fabric::NvSwitch, 900, 50, 72);
  const Calibration calibration = measured({curve(4, {10, 40, 4000})});
  const double at = microseconds(CollectiveKind::AllGather, 1_GiB, placed(4, 4), rack, calibration);
  const double wide = microseconds(CollectiveKind::AllGather, 1_GiB, placed(72, 72), rack, calibration);
  const double model = microseconds(CollectiveKind::AllGather, 1_GiB, placed(72, 72), rack) /
                       microseconds(CollectiveKind::AllGather, 1_GiB, placed(4, 4), rack);
  EXPECT_NEAR(wide / at, model, 1e-9);
}

TEST(measured_curves, speak_for_one_kind_and_for_groups_inside_a_node_only) {
  const Calibration calibration = measured({curve(8, {20, 90, 9000})});
  EXPECT_FALSE(
      collective_cost(CollectiveKind::AllReduce, 1_MiB, placed(8, 8), h100_nodes(1), calibration).measured);
  EXPECT_FALSE(
      collective_cost(CollectiveKind::AllGather, 1_MiB, placed(16, 8), h100_nodes(2), calibration).measured);
  EXPECT_FALSE(
      collective_cost(CollectiveKind::AllGather, 1_MiB, placed(8, 1), h100_nodes(8), calibration).measured);
}

// --- point to point
// -----------------------------------------------------------------------------------------------

TEST(send_and_receive, runs_at_the_level_where_the_neighbour_lies) {
  const double inside = microseconds(CollectiveKind::SendRecv, 1_GiB, placed(4, 4), h100_nodes(4));
  const double outside = microseconds(CollectiveKind::SendRecv, 1_GiB, placed(4, 1), h100_nodes(4));
  EXPECT_NEAR(outside / inside, 450 * 0.824 / (50 * 0.8), 0.1);
}

TEST(send_and_receive, of_a_mesh_uses_the_links_of_one_pair_only) {
  // Perlmutter, 4 × A100 all to all connected, 12 links: 4 per pair, 91 of 100 GB/s measured, 80 assumed.
  const ClusterSpec mesh = cluster_of(1, "ampere", Fabric::NvLink, 300, 25, 4);
  const double rate = 1e9 / microseconds(CollectiveKind::SendRecv, Bytes{1e9}, placed(2, 2, 4), mesh) * 1e6;
  EXPECT_NEAR(rate, 80e9, 1e9);
}

TEST(all_to_all, across_nodes_is_bound_by_one_card_per_rank) {
  const double seconds =
      microseconds(CollectiveKind::AllToAll, Bytes{1e10}, placed(64, 8), h100_nodes(8), ideal_network()) *
      1e-6;
  EXPECT_NEAR(seconds, 1e10 * 56 / 64 / 50e9, 0.001);
}

}  // namespace
}  // namespace hexaplan::costmodel
