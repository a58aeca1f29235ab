// What each mechanism adds to the step, by switching it alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "costmodel/step/estimate.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

StepTime time_of(const Scenario& sc) {
  return estimate_step(sc, Calibration{}).time;
}

TEST(step_time, slices_between_stages_are_cheaper_than_whole_tensors) {
  Scenario whole = example_scenario();
  whole.layout.sp = false;
  Scenario slices = whole;
  slices.framework.pipeline_scatter_gather = true;
  EXPECT_LT(time_of(slices).pipeline_p2p, time_of(whole).pipeline_p2p);
  slices.layout.sp = whole.layout.sp = true;
  EXPECT_EQ(time_of(slices).pipeline_p2p, time_of(whole).pipeline_p2p) << "SP has cut them already";
}

TEST(step_time, a_slow_host_shows_only_where_the_device_is_faster) {
  Scenario sc = example_scenario();
  EXPECT_EQ(time_of(sc).launch.value(), 0.0);
  sc.framework.layer_host_forward = sc.framework.layer_host_backward = Seconds{1e-3};
  EXPECT_EQ(time_of(sc).launch.value(), 0.0) << "a layer of 8,192 tokens takes longer";
  sc.recipe.sequence = 128;
  EXPECT_GT(time_of(sc).launch.value(), 0.0);
}

/// What one more layer per stage adds to compute, waiting for the host included, and to tensor-parallel
/// transfers.
struct AddedByLayer {
  double compute = 0, transfers = 0;
};
AddedByLayer added_by_layer(Scenario sc) {
  const auto passes = [&](std::int64_t layers) {
    sc.model.layers = layers;
    const StepTime t = time_of(sc);
    return AddedByLayer{(t.gemm + t.attention + t.memory_bound + t.launch).value(),
                        t.tensor_parallel.value()};
  };
  const AddedByLayer fewer = passes(32), more = passes(32 + sc.layout.pp);
  return {more.compute - fewer.compute, more.transfers - fewer.transfers};
}

/// Tensor-parallel over `tp` GPUs, one micro-batch, and a host slower than the device.
Scenario slow_host(int tp, double forward, double backward) {
  Scenario sc = example_scenario();
  sc.cluster.gpus = tp;
  sc.layout = {.tp = tp, .sp = true};
  sc.recipe.global_batch = 1;
  sc.framework.layer_host_forward = Seconds{forward};
  sc.framework.layer_host_backward = Seconds{backward};
  return sc;
}

TEST(step_time, a_host_that_gets_ahead_in_one_pass_makes_up_for_the_other) {
  const double even = added_by_layer(slow_host(8, 0.5, 0.5)).compute;
  EXPECT_NEAR(added_by_layer(slow_host(8, 1, 0)).compute, even, 1e-9);
  EXPECT_NEAR(added_by_layer(slow_host(8, 0, 1)).compute, even, 1e-9);
}

TEST(step_time, transfers_between_nodes_need_the_host_and_hide_none_of_it) {
  const AddedByLayer inside = added_by_layer(slow_host(8, 1, 1));
  EXPECT_NEAR(inside.compute + inside.transfers, 2, 1e-9) << "the host launches while NVLink moves";
  EXPECT_NEAR(added_by_layer(slow_host(16, 1, 1)).compute, 2, 1e-9);
}

TEST(step_time, a_norm_written_out_has_its_own_rule) {
  Scenario sc = example_scenario();
  sc.framework.elementwise[static_cast<std::size_t>(Elementwise::UnfusedNorm)] = {11, 50, 7, 16};
  const Seconds fused = time_of(sc).memory_bound;
  sc.recipe.fused_norm = false;
  EXPECT_GT(time_of(sc).memory_bound, fused);
}

TEST(step_time, a_stage_waits_for_each_neighbour_in_turn) {
  Scenario sc = example_scenario();  // two stages, 16 micro-batches
  const Seconds sends = time_of(sc).pipeline_p2p;
  sc.framework.pipeline_wait = Seconds{0.5};
  EXPECT_NEAR((time_of(sc).pipeline_p2p - sends).value(), 0.5 * 16, 1e-9);
  sc.layout.dp = 2, sc.layout.pp = 4;  // inner stages have two neighbours; 32 micro-batches
  const Scenario waiting = sc;
  sc.framework.pipeline_wait = Seconds{};
  EXPECT_NEAR((time_of(waiting).pipeline_p2p - time_of(sc).pipeline_p2p).value(), 0.5 * (2 * 31 + 3), 1e-9);
}

TEST(step_time, interleaved_stages_serve_their_neighbours_once_for_every_chunk) {
  struct Row {
    int pp, vpp;
    double waits;  // of the slowest stage, two messages each
  };
  // Sixteen micro-batches over two stages, 32 over four. Every chunk has a neighbour on either side, but the
  // model's first and last one.
  for (const Row& row :
       {Row{2, 2, 3 * 16}, Row{2, 4, 7 * 16}, Row{4, 2, 4 * 32 + 1}, Row{4, 4, 8 * 32 + 1}}) {
    Scenario sc = example_scenario();
    sc.layout.dp = 8 / row.pp, sc.layout.pp = row.pp, sc.layout.vpp = row.vpp;
    sc.layout.schedule = ScheduleKind::Interleaved;
    const Seconds sends = time_of(sc).pipeline_p2p;
    sc.framework.pipeline_wait = Seconds{0.5};
    EXPECT_NEAR((time_of(sc).pipeline_p2p - sends).value(), 0.5 * row.waits, 1e-9)
        << "pp" << row.pp << " vpp" << row.vpp;
  }
}

TEST(step_time, the_ends_of_a_polling_pipeline_have_time_for_more_work) {
  Scenario sc = example_scenario();
  sc.layout.dp = 2, sc.layout.pp = 4;  // 32 micro-batches
  sc.framework.pipeline_wait = Seconds{0.5};
  const StepTime light = time_of(sc);
  sc.model.vocab *= 5;  // the head works while inner stages serve a second neighbour
  const StepTime heavier = time_of(sc);
  EXPECT_EQ(heavier.gemm, light.gemm) << "of an inner stage, which goes on setting the pace";
  EXPECT_EQ(heavier.pipeline_p2p, light.pipeline_p2p);
  sc.model.vocab *= 100;
  EXPECT_NEAR((light.pipeline_p2p - time_of(sc).pipeline_p2p).value(), 0.5 * (2 * 32 + 1 - (32 + 2)), 0.1);
}

TEST(step_time, collectives_cost_host_time_where_the_pipeline_crosses_nodes) {
  Scenario sc = example_scenario();  // a stage is a node
  sc.recipe.sequence = 128;
  Scenario slow = sc;
  slow.framework.pipeline_collective_host = Seconds{1e-3};
  EXPECT_GT(time_of(slow).launch, time_of(sc).launch);
  for (Scenario* s : {&sc, &slow}) {
    s->layout.dp = 2, s->layout.pp = 2;
    s->cluster.gpus = 8;
    s->cluster.levels.back().ranks = 8;
  }
  EXPECT_EQ(time_of(slow).launch, time_of(sc).launch) << "both stages share a node";
}

TEST(step_time, data_parallel_collectives_cost_the_host_of_a_pipeline_as_much_per_member_as_others) {
  for (const int zero : {0, 1}) {
    Scenario sc = example_scenario();  // two stages, each a node with four replicas
    sc.layout.sharding.stage = zero;
    double calls = 0;
    for (const Operation& op : step_operations(sc, 1)) calls += op.kind == OpKind::Collective ? op.count : 0;
    const Seconds quick = time_of(sc).data_parallel;
    sc.framework.pipeline_collective_host = Seconds{1};
    // The longer backward pass hides more of the reduction.
    EXPECT_NEAR((time_of(sc).data_parallel - quick).value(), 4 * calls, zero == 0 ? 0.1 : 1e-9);
  }
}

TEST(step_time, collectives_between_nodes_cost_the_host_of_a_pipeline_a_quarter_more_per_member) {
  const auto seconds_per_member = [](int tp) {
    Scenario sc = slow_host(tp, 0, 0);
    sc.layout.pp = 2;
    sc.cluster.gpus = sc.cluster.levels.back().ranks = 2 * tp;
    sc.framework.pipeline_collective_host = Seconds{1};
    const AddedByLayer added = added_by_layer(sc);
    return (added.compute + added.transfers) / tp;
  };
  const double collectives = 10;  // gather and scatter twice per pass, and both inputs again
  EXPECT_NEAR(seconds_per_member(8), collectives, 1e-9);
  EXPECT_NEAR(seconds_per_member(16), 1.25 * collectives, 1e-9);
}

TEST(step_time, collectives_of_more_members_than_were_measured_cost_the_host_what_128_do) {
  for (const int replicas : {64, 128, 256, 512}) {
    Scenario sc = example_scenario();
    sc.layout.dp = replicas;
    sc.cluster.gpus = sc.cluster.levels.back().ranks = 4 * replicas;
    sc.recipe.global_batch = 2 * replicas;
    double calls = 0;
    for (const Operation& op : step_operations(sc, 1)) calls += op.kind == OpKind::Collective ? op.count : 0;
    const Seconds quick = time_of(sc).data_parallel;
    sc.framework.pipeline_collective_host = Seconds{1};
    EXPECT_NEAR((time_of(sc).data_parallel - quick).value(), 1.25 * std::min(replicas, 128) * calls, 1e-6)
        << replicas;
  }
}

TEST(step_time, gathering_in_slices_takes_the_host_one_copy_per_tensor_and_rank) {
  Scenario sc = example_scenario();
  const Seconds one_call = time_of(sc).data_parallel;
  sc.framework.gather_copy_bytes = 1;
  sc.framework.gather_slice_host = Seconds{1e-3};
  const Seconds in_slices = time_of(sc).data_parallel;
  EXPECT_GT(in_slices.value(), one_call.value() + 1e-3 * 4 * 16) << "four ranks, at least a tensor per layer";
  sc.layout.sharding.stage = 0;
  Scenario whole = example_scenario();
  whole.layout.sharding.stage = 0;
  EXPECT_EQ(time_of(sc).data_parallel, time_of(whole).data_parallel) << "nothing to gather";
}

/// A rank that keeps a shard of its gradients has nowhere to add up whole ones.
TEST(step_time, gradients_are_reduced_once_per_step_and_from_zero2_on_in_every_micro_batch) {
  const auto reduction = [](int stage, std::int64_t microbatches) {
    Scenario sc = example_scenario();
    sc.layout.pp = 1, sc.layout.dp = 8;
    sc.layout.sharding.stage = stage;
    sc.recipe.global_batch = 8 * sc.recipe.micro_batch * microbatches;
    sc.framework.gradient_overlap = GradientOverlap::None;
    sc.framework.parameter_gather_overlap = true;
    sc.framework.zero2_gathers_layers = false;
    return time_of(sc).data_parallel.value();
  };
  for (const int stage : {0, 1}) EXPECT_NEAR(reduction(stage, 4), reduction(stage, 1), 1e-9) << stage;
  const double one = reduction(2, 2) - reduction(2, 1);
  EXPECT_GT(one, 0);
  EXPECT_NEAR(reduction(2, 9) - reduction(2, 1), 8 * one, 1e-9);
}

/// Its shard is the whole gradient, which the products of every micro-batch add to.
TEST(step_time, one_rank_computes_as_long_however_it_shards) {
  const auto compute = [](int stage) {
    Scenario sc = example_scenario();
    sc.layout = {.dp = 1, .tp = 8, .pp = 2};
    sc.layout.sharding.stage = stage;
    sc.framework.weight_gradient_temporary_bytes = 0;
    const StepTime time = time_of(sc);
    return (time.gemm + time.memory_bound).value();
  };
  for (const int stage : {1, 2, 3}) EXPECT_EQ(compute(stage), compute(0)) << stage;
}

TEST(step_time, every_gradient_bucket_pays_a_latency) {
  Scenario large = example_scenario();
  large.framework.gradient_overlap = GradientOverlap::Backward;
  large.layout.dp = 8;
  large.layout.pp = 1;  // replicas on both nodes
  large.framework.gradient_bucket_elements = 1e12;
  Scenario small = large;
  small.framework.gradient_bucket_elements = 1e6;  // every matrix fills one
  Calibration slow;
  slow.network.base_latency = Seconds{1};
  const auto reduction = [&](const Scenario& sc) {
    return estimate_step(sc, slow).time.data_parallel.value();
  };
  EXPECT_GT(reduction(small), reduction(large) + 32 * 3) << "three and more per layer";
}

}  // namespace
}  // namespace hexaplan::costmodel
