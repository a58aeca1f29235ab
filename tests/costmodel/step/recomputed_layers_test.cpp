// Recomputing N layers: which ones, and what they take. Megatron-LM core/transformer/transformer_block.py:
// every model chunk is a block of its own, whose first recompute_num_layers are checkpointed.
#include <gtest/gtest.h>

#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

constexpr std::size_t kDense = 0, kExperts = 1;

/// 16 layers, the first three of them dense, on one GPU a stage.
Scenario mixed(ScheduleKind schedule, int stages, int vpp = 1) {
  Scenario sc = example_scenario();
  sc.model.layers = 16;
  sc.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 1024, .first_k_dense = 3};
  sc.layout = {.dp = 1, .pp = stages, .vpp = vpp, .schedule = schedule};
  sc.cluster.gpus = stages;
  sc.recipe.micro_batch = 1;
  sc.recipe.global_batch = 4 * stages;
  return sc;
}

Scenario recomputing(Scenario sc, int layers) {
  sc.recipe.recompute = {.mode = RecomputeMode::Layers, .layers = layers};
  return sc;
}

TEST(recomputed_layers, are_the_first_of_every_chunk) {
  const std::vector<StagePlan> stages = plan_stages(recomputing(mixed(ScheduleKind::Interleaved, 2, 2), 3));
  // Stage 0 has layers 0 to 3 and 8 to 11.
  EXPECT_EQ(stages[0].recomputed[kDense], 3);
  EXPECT_EQ(stages[0].recomputed[kExperts], 3);
  EXPECT_EQ(stages[1].recomputed[kDense], 0);
  EXPECT_EQ(stages[1].recomputed[kExperts], 6);
}

TEST(recomputed_layers, are_no_more_than_a_chunk_has) {
  for (const StagePlan& stage : plan_stages(recomputing(mixed(ScheduleKind::Interleaved, 2, 2), 99)))
    EXPECT_EQ(stage.recomputed, stage.layers);
}

TEST(recomputed_layers, of_stages_that_differ_are_counted_for_each_of_their_chunks) {
  Scenario sc = mixed(ScheduleKind::Interleaved, 2, 2);
  sc.recipe.recompute = {.mode = RecomputeMode::Layers, .stage_layers = {1, 2}};
  const std::vector<StagePlan> stages = plan_stages(sc);
  EXPECT_EQ(stages[0].total_recomputed(), 2);
  EXPECT_EQ(stages[1].total_recomputed(), 4);
}

TEST(recomputed_layers, include_prediction_modules_behind_the_last_chunk) {
  Scenario sc = mixed(ScheduleKind::OneFOneB, 2);
  sc.framework.abilities.mtp = true;
  sc.model.mtp_layers = 1;
  EXPECT_EQ(plan_stages(recomputing(sc, 8))[1].recomputed[kMtpClass], 0);
  EXPECT_EQ(plan_stages(recomputing(sc, 9))[1].recomputed[kMtpClass], 1);
}

TEST(recomputed_layers, by_count_are_those_of_the_plan) {
  for (const Scenario& sc : {mixed(ScheduleKind::Interleaved, 2, 2), mixed(ScheduleKind::DualPipe, 4),
                             mixed(ScheduleKind::OneFOneB, 4)}) {
    const auto first = first_layers_of_chunks(sc);
    for (int n = 0; n < static_cast<int>(first.front().size()); ++n) {
      const std::vector<StagePlan> chunks = plan_chunks(recomputing(sc, n));
      ASSERT_EQ(first.size(), chunks.size());
      for (std::size_t c = 0; c < chunks.size(); ++c)
        EXPECT_EQ(first[c][static_cast<std::size_t>(n)], chunks[c].recomputed) << n << " of chunk " << c;
    }
  }
}

Seconds recompute_time(const Scenario& sc) {
  return estimate_step(sc, {}).time.recompute;
}

/// Not the average of the layers that the stage has.
TEST(recomputed_layers, take_the_time_of_their_own_classes) {
  const Scenario sc = mixed(ScheduleKind::OneFOneB, 1);
  const Seconds three_dense = recompute_time(recomputing(sc, 3));
  const Seconds dense = three_dense / 3;
  const Seconds experts = recompute_time(recomputing(sc, 4)) - three_dense;
  EXPECT_GT(std::abs(dense / experts - 1), 0.1);
  EXPECT_NEAR(recompute_time(recomputing(sc, 1)) / dense, 1, 1e-9);
  EXPECT_NEAR(recompute_time(recomputing(sc, 10)) / (three_dense + experts * 7), 1, 1e-9);
  EXPECT_NEAR(recompute_time(recomputing(sc, 16)) / (three_dense + experts * 13), 1, 1e-9);
}

/// A chunk with dense layers alone recomputes them, not a share of what its stage recomputes.
TEST(recomputed_layers, are_simulated_where_they_are) {
  Scenario sc = mixed(ScheduleKind::Interleaved, 2, 4);
  sc.model.moe.first_k_dense = 2;  // the first chunk's
  const auto recompute_span = [](const Scenario& scenario, int chunk) {
    const Simulation simulation = simulate_step(scenario, {});
    for (const Span& span : simulation.stages[0].streams[static_cast<std::size_t>(Stream::Compute)]) {
      if (span.kind == SpanKind::Recompute && span.chunk == chunk) return span.end - span.begin;
    }
    return Seconds{};
  };
  const Seconds dense = recompute_span(recomputing(sc, 1), 0),
                experts = recompute_span(recomputing(sc, 1), 1);
  EXPECT_NEAR(recompute_span(recomputing(sc, 2), 0) / dense, 2, 1e-6);
  EXPECT_NEAR(recompute_span(recomputing(sc, 2), 1) / experts, 2, 1e-6);
  EXPECT_GT(std::abs(dense / experts - 1), 0.1);
}

}  // namespace
}  // namespace hexaplan::costmodel
