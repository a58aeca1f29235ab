// ZeRO++ (arXiv:2306.10209): what each of its three techniques sends, keeps and computes.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/stage_parameters.h"
#include "costmodel/step/step_counts.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

Scenario sharded() {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 16};
  sc.layout.sharding.stage = 3;
  sc.recipe.global_batch = 16;  // one micro-batch
  return sc;
}

double parameters(const Scenario& sc) {
  const auto stages = plan_stages(sc);
  return ModelParameters{sc, stages}.of(stages[0]).trained.all();
}

struct Sent {
  std::map<std::pair<Pass, Group>, double> gathered, exchanged, scattered;  // bytes
};
Sent sent_by(const Scenario& sc) {
  Sent sent;
  for (const Operation& op : step_operations(sc, 0)) {
    if (op.kind != OpKind::Collective) continue;
    const double bytes = op.payload.value() * op.count;
    if (op.collective == CollectiveKind::AllGather) sent.gathered[{op.pass, op.group}] += bytes;
    if (op.collective == CollectiveKind::AllToAll) sent.exchanged[{op.pass, op.group}] += bytes;
    if (op.collective == CollectiveKind::ReduceScatter) sent.scattered[{op.pass, op.group}] += bytes;
  }
  return sent;
}

TEST(zero_plus_plus, qwz_gathers_parameters_in_8_bits) {
  Scenario sc = sharded();
  const double n = parameters(sc);
  EXPECT_NEAR((sent_by(sc).gathered[{Pass::Forward, Group::Shard}]), 2 * n, 1);
  sc.layout.sharding.quantized_weights = true;
  EXPECT_NEAR((sent_by(sc).gathered[{Pass::Forward, Group::Shard}]), n, 1);
  EXPECT_NEAR((sent_by(sc).gathered[{Pass::BackwardData, Group::Shard}]), n, 1);
}

TEST(zero_plus_plus, hpz_gathers_for_backward_among_neighbours_and_keeps_a_second_copy_there) {
  Scenario sc = sharded();
  const double n = parameters(sc);
  const double before = estimate_step(sc, {}).stages[0].at_peak.parameters.value();
  sc.layout.sharding.hpz = 8;
  Sent sent = sent_by(sc);
  EXPECT_EQ((sent.gathered[{Pass::BackwardData, Group::Shard}]), 0);
  EXPECT_NEAR((sent.gathered[{Pass::BackwardData, Group::Secondary}]), 2 * n, 1);
  EXPECT_EQ(group_size(sc.layout, Group::Secondary), 8);
  EXPECT_EQ(place_group(sc.layout, Group::Secondary, sc.cluster).within[0], 8);
  EXPECT_NEAR(estimate_step(sc, {}).stages[0].at_peak.parameters.value() - before, 2 * n / 8, 1);
}

TEST(zero_plus_plus, hpz_keeps_its_copy_where_parameters_lie) {
  Scenario sc = sharded();
  sc.recipe.offload = kOffloadOptimizer | kOffloadParameters;
  sc.cluster.host.memory = Bytes{4e12};
  const double n = parameters(sc);
  const auto loaded = [&](Pass pass) {
    double bytes = 0;
    for (const Operation& op : step_operations(sc, 0))
      bytes += op.name == "parameter.to_device" && op.pass == pass ? op.payload.value() * op.count : 0;
    return bytes;
  };
  const StageMemory before = estimate_step(sc, {}).stages.at(0);
  EXPECT_NEAR(loaded(Pass::BackwardData), 2 * n / 16, 1);
  sc.layout.sharding.hpz = 8;
  const StageMemory after = estimate_step(sc, {}).stages.at(0);
  EXPECT_EQ(after.at_peak.parameters, before.at_peak.parameters);
  EXPECT_NEAR((after.host - before.host).value(), 2 * n / 8, 1);
  EXPECT_NEAR(loaded(Pass::Forward), 2 * n / 16, 1);
  EXPECT_NEAR(loaded(Pass::BackwardData), 2 * n / 8, 1);
  sc.recipe.offload_device = OffloadDevice::Nvme;
  EXPECT_EQ(first_rejection(sc).value().rule, "secondary-partition-has-a-place");
}

TEST(zero_plus_plus, qgz_exchanges_4_bits_in_the_node_and_an_eighth_of_them_between_nodes) {
  Scenario sc = sharded();
  const double n = parameters(sc);
  EXPECT_NEAR((sent_by(sc).scattered[{Pass::BackwardWeight, Group::Shard}]), 4 * n, 1);
  sc.layout.sharding.quantized_gradients = true;
  Sent sent = sent_by(sc);
  EXPECT_EQ((sent.scattered[{Pass::BackwardWeight, Group::Shard}]), 0);
  EXPECT_NEAR((sent.exchanged[{Pass::BackwardWeight, Group::ShardNode}]), n / 2, 1);
  EXPECT_NEAR((sent.exchanged[{Pass::BackwardWeight, Group::Shard}]), n / 2 / 8, 1);
}

TEST(zero_plus_plus, one_node_exchanges_gradients_once) {
  Scenario sc = sharded();
  sc.layout.dp = 8;
  sc.cluster.gpus = 8;
  sc.cluster.levels.resize(1);
  sc.layout.sharding.quantized_gradients = true;
  EXPECT_EQ((sent_by(sc).exchanged[{Pass::BackwardWeight, Group::Shard}]), 0);
  EXPECT_GT((sent_by(sc).exchanged[{Pass::BackwardWeight, Group::ShardNode}]), 0);
}

TEST(zero_plus_plus, saves_time_where_the_network_binds_and_costs_some_where_it_does_not) {
  const auto step = [](double network, bool all_three) {
    Scenario sc = sharded();
    sc.cluster.levels[1].bandwidth = BytesPerSecond{network};
    sc.layout.sharding.hpz = all_three ? 8 : 0;
    sc.layout.sharding.quantized_weights = sc.layout.sharding.quantized_gradients = all_three;
    return estimate_step(sc, {}).time.total().value();
  };
  EXPECT_LT(step(3e9, true), 0.6 * step(3e9, false));
  EXPECT_GT(step(1e13, true), step(1e13, false));
}

TEST(zero_plus_plus, secondary_groups_divide_the_ranks_that_share_parameters) {
  Scenario sc = sharded();
  sc.layout.sharding.hpz = 8;
  EXPECT_FALSE(estimate_step(sc, {}).stages.empty());
  sc.layout.sharding.hpz = 6;
  EXPECT_EQ(std::get<Rejected>(estimate_step(sc, {}).verdict).rule, "secondary-partition-divides");
}

TEST(zero_plus_plus, secondary_groups_are_whole_rows_of_neighbours) {
  Scenario sc = sharded();
  sc.layout.cp = 2, sc.layout.dp /= 2;
  for (const auto& [hpz, dp, fits] : {std::tuple{4, 4, true}, {2, 3, true}, {3, 3, false}, {6, 3, true}}) {
    sc.layout.dp = dp, sc.layout.sharding.hpz = hpz;
    sc.cluster.gpus = sc.layout.world_size(), sc.recipe.global_batch = 16L * dp;
    const auto rejected = first_rejection(sc);
    EXPECT_EQ(!rejected, fits) << "hpz " << hpz << ", dp " << dp << (rejected ? ": " + rejected->reason : "");
    if (!fits) {
      EXPECT_EQ(rejected.value().rule, "secondary-groups-tile-rows");
    }
  }
}

/// ZeRO-R: recomputed layers alone have inputs to gather; sequence parallelism cuts and gathers them anyway.
TEST(partitioned_activations, gather_the_inputs_of_recomputed_layers) {
  const auto gathers = [](RecomputeMode mode, bool sp) {
    Scenario sc = example_scenario();
    sc.layout.sp = sp;
    sc.layout.partition_activations = true;
    sc.recipe.recompute = {.mode = mode, .layers = 4};
    double messages = 0;
    for (const CollectiveCount& count : count_step(sc, 0).collectives) {
      if (count.operation != "checkpoint.gather") continue;
      EXPECT_EQ(count.kind, CollectiveKind::AllGather);
      EXPECT_EQ(count.group, Group::Tensor);
      EXPECT_EQ(count.bytes.value() / count.messages, 8192.0 * 4096 * 2) << "tokens, hidden, bf16";
      messages += count.messages;
    }
    return messages;
  };
  const double microbatches = static_cast<double>(microbatches_per_step(example_scenario()));
  EXPECT_EQ(gathers(RecomputeMode::None, false), 0);
  EXPECT_EQ(gathers(RecomputeMode::Full, true), 0);
  EXPECT_EQ(gathers(RecomputeMode::Layers, false), 4 * microbatches);
}

TEST(partitioned_activations, take_the_time_of_the_gather) {
  const auto recompute = [](bool partitioned) {
    Scenario sc = example_scenario();
    sc.layout.sp = false;
    sc.layout.partition_activations = partitioned;
    sc.recipe.recompute.mode = RecomputeMode::Full;
    return estimate_step(sc, {}).time.recompute;
  };
  EXPECT_GT(recompute(true), recompute(false));
}

}  // namespace
}  // namespace hexaplan::costmodel
