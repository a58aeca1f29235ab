#include "costmodel/spec/rank_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "costmodel/spec/chunk_order.h"

namespace hexaplan::costmodel {
namespace {

using testing::ElementsAre;
using Ranks = std::vector<std::int64_t>;

struct MembersCase {
  std::string name;
  Layout layout;
  Group group;
  std::int64_t rank;
  Ranks members;
};
void PrintTo(const MembersCase& row, std::ostream* out) {
  *out << row.name;
}

// 16 GPUs, tp 2, pp 4: the example in the documentation of Megatron-LM, core/parallel_state.py
// initialize_model_parallel(): tensor groups [g0, g1], …, pipeline groups [g0, g4, g8, g12], …, data groups
// [g0, g2], …
const Layout kMegatron{.dp = 2, .tp = 2, .pp = 4};
// tp 2, cp 2, dp 2, pp 2; experts: ep 4 over one stage's 8 ranks, etp 1 or tp.
const Layout kContext{.dp = 2, .tp = 2, .cp = 2, .pp = 2};
const Layout kExperts{.dp = 2, .tp = 2, .cp = 2, .pp = 2, .ep = 4, .etp = 1};
const Layout kExpertsTp{.dp = 2, .tp = 2, .cp = 2, .pp = 2, .ep = 2};
const Layout kHybrid{.dp = 16, .tp = 2, .sharding = {.stage = 3, .group = 4}};
const Layout kPipelineInside{.dp = 4,
                             .tp = 2,
                             .pp = 2,
                             .ep = 8,
                             .etp = 1,
                             .order = {Axis::Tensor, Axis::Context, Axis::Pipeline, Axis::Data}};

class Members : public testing::TestWithParam<MembersCase> {};
TEST_P(Members, are) {
  EXPECT_EQ(members_of(GetParam().layout, GetParam().group, GetParam().rank), GetParam().members);
}
INSTANTIATE_TEST_SUITE_P(
    table, Members,
    testing::Values(
        MembersCase{"megatron_tensor_first", kMegatron, Group::Tensor, 0, {0, 1}},
        MembersCase{"megatron_tensor_last", kMegatron, Group::Tensor, 15, {14, 15}},
        MembersCase{"megatron_data", kMegatron, Group::Data, 0, {0, 2}},
        MembersCase{"megatron_data_odd", kMegatron, Group::Data, 7, {5, 7}},
        MembersCase{"megatron_pipeline", kMegatron, Group::Pipeline, 0, {0, 4, 8, 12}},
        MembersCase{"megatron_pipeline_last", kMegatron, Group::Pipeline, 15, {3, 7, 11, 15}},
        MembersCase{"context", kContext, Group::Context, 1, {1, 3}},
        MembersCase{"data_steps_over_context", kContext, Group::Data, 1, {1, 5}},
        MembersCase{"data_and_context", kContext, Group::DataContext, 1, {1, 3, 5, 7}},
        MembersCase{"data_and_context_of_the_second_stage", kContext, Group::DataContext, 8, {8, 10, 12, 14}},
        MembersCase{"no_expert_parallelism", kContext, Group::Expert, 5, {5}},
        MembersCase{"experts_take_whole_stages", kExperts, Group::Expert, 0, {0, 1, 2, 3}},
        MembersCase{"experts_of_the_second_stage", kExperts, Group::Expert, 15, {12, 13, 14, 15}},
        MembersCase{"expert_replicas", kExperts, Group::ExpertData, 1, {1, 5}},
        MembersCase{"expert_tensor_is_alone", kExperts, Group::ExpertTensor, 3, {3}},
        MembersCase{"expert_tensor_follows_tp", kExpertsTp, Group::ExpertTensor, 3, {2, 3}},
        MembersCase{"experts_step_over_expert_tensor", kExpertsTp, Group::Expert, 0, {0, 2}},
        MembersCase{"expert_replicas_step_over_both", kExpertsTp, Group::ExpertData, 0, {0, 4}},
        MembersCase{"shard_group", kHybrid, Group::Shard, 11, {9, 11, 13, 15}},
        MembersCase{"replicas_of_a_shard", kHybrid, Group::Replica, 11, {3, 11, 19, 27}},
        MembersCase{"pipeline_inside_data", kPipelineInside, Group::Pipeline, 5, {5, 7}},
        MembersCase{"data_outside_pipeline", kPipelineInside, Group::Data, 3, {3, 7, 11, 15}},
        MembersCase{"experts_step_over_other_stages",
                    kPipelineInside,
                    Group::Expert,
                    2,
                    {2, 3, 6, 7, 10, 11, 14, 15}},
        MembersCase{
            "world", kMegatron, Group::World, 3, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}),
    [](const auto& row) { return row.param.name; });

TEST(coordinates, count_tensor_fastest_and_pipeline_slowest) {
  // Tensor, Context, Data, Pipeline, Expert, ExpertTensor, ExpertData
  EXPECT_THAT(coordinates_of(kContext, 0), ElementsAre(0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(coordinates_of(kContext, 1), ElementsAre(1, 0, 0, 0, 0, 1, 0));
  EXPECT_THAT(coordinates_of(kExperts, 6), ElementsAre(0, 1, 1, 0, 2, 0, 1));
  EXPECT_THAT(coordinates_of(kExperts, 15), ElementsAre(1, 1, 1, 1, 3, 0, 1));
  EXPECT_THAT(coordinates_of(kPipelineInside, 7), ElementsAre(1, 0, 1, 1, 3, 0, 0));
}

const std::vector<Layout> kLayouts = {
    kMegatron,
    kContext,
    kExperts,
    kExpertsTp,
    kHybrid,
    kPipelineInside,
    {},
    {.dp = 2, .tp = 2, .pp = 6, .schedule = ScheduleKind::DualPipe},
    {.dp = 12, .tp = 3, .cp = 2, .pp = 5, .ep = 6, .etp = 1, .sharding = {.stage = 2, .group = 6}},
    {.dp = 4, .tp = 2, .cp = 2, .pp = 2, .order = {Axis::Data, Axis::Pipeline, Axis::Tensor, Axis::Context}}};

TEST(groups, of_each_kind_hold_every_rank_exactly_once) {
  for (const Layout& layout : kLayouts) {
    for (int kind = 0; kind < kLayoutGroups; ++kind) {
      const auto group = static_cast<Group>(kind);
      std::set<Ranks> groups;
      for (std::int64_t rank = 0; rank < layout.world_size(); ++rank) {
        const Ranks members = members_of(layout, group, rank);
        ASSERT_EQ(std::count(members.begin(), members.end(), rank), 1)
            << "group kind " << kind << " rank " << rank;
        ASSERT_TRUE(std::is_sorted(members.begin(), members.end()));
        ASSERT_EQ(static_cast<std::int64_t>(members.size()), group_size(layout, group));
        groups.insert(members);
      }
      EXPECT_EQ(static_cast<std::int64_t>(groups.size()) * group_size(layout, group), layout.world_size())
          << "group kind " << kind;
    }
  }
}

TEST(groups, of_dualpipes_mirror_are_the_stages_that_hold_the_same_layers) {
  const Layout layout{.dp = 2, .tp = 2, .pp = 4, .schedule = ScheduleKind::DualPipe};
  EXPECT_THAT(members_of(layout, Group::Mirror, 1), ElementsAre(1, 13));
  EXPECT_THAT(members_of(layout, Group::Mirror, 10), ElementsAre(6, 10));
  for (std::int64_t rank = 0; rank < layout.world_size(); ++rank) {
    for (const std::int64_t other : members_of(layout, Group::Mirror, rank)) {
      const auto stage = [&](std::int64_t r) {
        return static_cast<int>(coordinates_of(layout, r)[static_cast<std::size_t>(Axis::Pipeline)]);
      };
      const int chunk = other == rank ? 0 : 1;
      EXPECT_EQ(chunk_position(layout.schedule, layout.pp, {.stage = stage(other), .chunk = chunk}),
                stage(rank));
    }
  }
}

TEST(groups, have_sizes_that_multiply_to_the_world) {
  for (const Layout& layout : kLayouts) {
    const auto size = [&](Group group) { return group_size(layout, group); };
    EXPECT_EQ(size(Group::Tensor) * size(Group::DataContext) * size(Group::Pipeline), layout.world_size());
    EXPECT_EQ(size(Group::Data) * size(Group::Context), size(Group::DataContext));
    EXPECT_EQ(size(Group::Shard) * size(Group::Replica), size(Group::DataContext));
    EXPECT_EQ(
        size(Group::ExpertTensor) * size(Group::Expert) * size(Group::ExpertData) * size(Group::Pipeline),
        layout.world_size());
  }
}

TEST(groups, differ_only_on_the_axes_of_their_kind) {
  const auto at = [](const auto& coordinates, Axis axis) {
    return coordinates[static_cast<std::size_t>(axis)];
  };
  for (const Layout& layout : kLayouts) {
    for (std::int64_t rank = 0; rank < layout.world_size(); ++rank) {
      const auto mine = coordinates_of(layout, rank);
      for (const std::int64_t other : members_of(layout, Group::Expert, rank)) {
        const auto theirs = coordinates_of(layout, other);
        ASSERT_EQ(at(mine, Axis::Pipeline), at(theirs, Axis::Pipeline));
        ASSERT_EQ(at(mine, Axis::ExpertTensor), at(theirs, Axis::ExpertTensor));
        ASSERT_EQ(at(mine, Axis::ExpertData), at(theirs, Axis::ExpertData));
      }
      for (const std::int64_t other : members_of(layout, Group::Data, rank)) {
        const auto theirs = coordinates_of(layout, other);
        ASSERT_EQ(at(mine, Axis::Tensor), at(theirs, Axis::Tensor));
        ASSERT_EQ(at(mine, Axis::Context), at(theirs, Axis::Context));
        ASSERT_EQ(at(mine, Axis::Pipeline), at(theirs, Axis::Pipeline));
      }
    }
  }
}

ClusterSpec cluster_of(std::vector<NetworkLevel> levels, int gpus_per_node) {
  return {.gpus = levels.back().ranks, .gpus_per_node = gpus_per_node, .levels = std::move(levels)};
}
const ClusterSpec kNodes =
    cluster_of({{.fabric = Fabric::NvSwitch, .ranks = 8}, {.fabric = Fabric::Network, .ranks = 64}}, 8);
const ClusterSpec kRacks =
    cluster_of({{.fabric = Fabric::NvSwitch, .ranks = 72}, {.fabric = Fabric::Network, .ranks = 144}}, 4);

struct PlacementCase {
  std::string name;
  Layout layout;
  Group group;
  const ClusterSpec* cluster;
  std::int64_t ranks, stride, inside_node, sharing;
};
void PrintTo(const PlacementCase& row, std::ostream* out) {
  *out << row.name;
}
class Placement : public testing::TestWithParam<PlacementCase> {};
TEST_P(Placement, is) {
  const GroupPlacement placement = place_group(GetParam().layout, GetParam().group, *GetParam().cluster);
  EXPECT_EQ(placement.ranks, GetParam().ranks);
  EXPECT_EQ(placement.stride, GetParam().stride);
  EXPECT_EQ(placement.levels, 2);
  EXPECT_EQ(placement.within[0], GetParam().inside_node);
  EXPECT_EQ(placement.within[1], GetParam().ranks);
  EXPECT_EQ(placement.sharing, GetParam().sharing);
}
const Layout kDeep{.dp = 2, .tp = 4, .pp = 8};
INSTANTIATE_TEST_SUITE_P(
    table, Placement,
    testing::Values(
        PlacementCase{"inside_one_node", kDeep, Group::Tensor, &kNodes, 4, 1, 4, 1},
        PlacementCase{"exactly_one_node", {.dp = 8, .tp = 8}, Group::Tensor, &kNodes, 8, 1, 8, 1},
        PlacementCase{"data_pair_inside_one_node", kDeep, Group::Data, &kNodes, 2, 4, 2, 1},
        PlacementCase{"one_member_per_node_shares_with_seven_others",
                      {.dp = 8, .tp = 8},
                      Group::Data,
                      &kNodes,
                      8,
                      8,
                      1,
                      8},
        PlacementCase{"four_members_per_node_share_with_one_other",
                      {.dp = 32, .tp = 2},
                      Group::Data,
                      &kNodes,
                      32,
                      2,
                      4,
                      2},
        PlacementCase{"whole_nodes_share_with_nobody", {.dp = 64}, Group::Data, &kNodes, 64, 1, 8, 1},
        PlacementCase{"pipeline_over_nodes", kDeep, Group::Pipeline, &kNodes, 8, 8, 1, 8},
        PlacementCase{"tensor_over_two_nodes", {.dp = 4, .tp = 16}, Group::Tensor, &kNodes, 16, 1, 8, 1},
        PlacementCase{"three_does_not_divide_a_node", {.dp = 16, .tp = 3}, Group::Data, &kNodes, 16, 3, 3, 2},
        PlacementCase{"alone", {.dp = 64}, Group::Tensor, &kNodes, 1, 1, 1, 1},
        PlacementCase{"rack_of_72", {.dp = 16, .tp = 8}, Group::Data, &kRacks, 16, 8, 9, 8},
        PlacementCase{"inside_a_rack", {.dp = 2, .tp = 72}, Group::Tensor, &kRacks, 72, 1, 72, 1}),
    [](const auto& row) { return row.param.name; });

TEST(placement, counts_the_same_members_as_the_list_does) {
  for (const Layout& layout : kLayouts) {
    for (int kind = 0; kind < kLayoutGroups; ++kind) {
      const auto group = static_cast<Group>(kind);
      const Ranks members = members_of(layout, group, 0);
      for (std::int64_t unit = 1; unit <= layout.world_size(); ++unit) {
        const ClusterSpec cluster =
            cluster_of({{.fabric = Fabric::NvSwitch, .ranks = unit}, {.ranks = layout.world_size()}}, 1);
        const auto expected =
            std::count_if(members.begin(), members.end(), [&](auto rank) { return rank < unit; });
        ASSERT_EQ(place_group(layout, group, cluster).within[0], expected)
            << "group kind " << kind << " unit " << unit;
      }
    }
  }
}

TEST(placement, the_shard_groups_part_of_a_node_is_counted_by_the_cluster) {
  const ClusterSpec cluster = cluster_of({{.fabric = Fabric::NvSwitch, .ranks = 8}, {.ranks = 32}}, 8);
  EXPECT_EQ(place_group({.dp = 32}, Group::ShardNode, cluster).ranks, 8);
  EXPECT_EQ(place_group({.dp = 16, .tp = 2}, Group::ShardNode, cluster).ranks, 4);
  EXPECT_EQ(place_group({.dp = 4, .tp = 8}, Group::ShardNode, cluster).ranks, 1);
  EXPECT_EQ(place_group({.dp = 32, .sharding = {.group = 2}}, Group::ShardNode, cluster).ranks, 2);
}

}  // namespace
}  // namespace hexaplan::costmodel
