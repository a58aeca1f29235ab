// One rank's time by pass and kind: it must say the same as the step that is made of it.
#include "costmodel/step/stage_times.h"

#include <gtest/gtest.h>

#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// On one GPU nothing is sent and nothing waits.
Scenario alone() {
  Scenario sc = example_scenario();
  sc.layout = {};
  sc.cluster.gpus = 1;
  sc.model.layers = 4;
  sc.recipe.global_batch = 4;
  return sc;
}

TEST(stage_times, of_one_gpu_add_up_to_its_step) {
  Scenario sc = alone();
  sc.recipe.recompute.mode = RecomputeMode::Full;
  const StageTimes times = stage_times(sc, Calibration{}, 0);
  const StepTime step = estimate_step(sc, Calibration{}).time;
  EXPECT_NEAR(times.compute().value(), (step.total() - step.host).value(), 1e-9);
  EXPECT_NEAR((times.forward.gemm + times.backward.gemm).value(), step.gemm.value(), 1e-12);
  EXPECT_NEAR(times.recompute.total().value(), step.recompute.value(), 1e-12);
  EXPECT_EQ(times.optimizer.value(), step.optimizer.value());
  EXPECT_TRUE(communication_times(sc, Calibration{}, 0).empty());
}

TEST(stage_times, follow_the_curves_of_the_optimizer_and_of_masks) {
  Scenario sc = alone();
  Calibration slow;
  slow.optimizer = {.share = 0.4, .ramp = {}};
  slow.attention_unmasked = 0.5;
  const StageTimes before = stage_times(sc, Calibration{}, 0), after = stage_times(sc, slow, 0);
  EXPECT_NEAR(after.optimizer / before.optimizer, 0.8 / 0.4, 0.05);
  EXPECT_EQ(after.forward.attention, before.forward.attention) << "all of it is causal";
  sc.layout.cp = 4;
  sc.layout.context = ContextKind::Ring;
  sc.cluster.gpus = 4;
  EXPECT_GT(stage_times(sc, slow, 0).forward.attention,
            1.3 * stage_times(sc, Calibration{}, 0).forward.attention)
      << "most pieces of a ring have no mask";
}

TEST(stage_times, the_stage_with_the_head_computes_longest) {
  const Scenario sc = example_scenario();
  EXPECT_GT(stage_times(sc, Calibration{}, 1).compute(), stage_times(sc, Calibration{}, 0).compute());
}

TEST(communication_times, price_what_a_rank_sends) {
  const auto rows = communication_times(example_scenario(), Calibration{}, 0);
  Seconds tensor, pipeline;
  for (const CommunicationTime& row : rows) {
    EXPECT_GT(row.messages, 0);
    EXPECT_GT(row.time, Seconds{});
    if (row.group == Group::Tensor) tensor += row.time;
    if (row.group == Group::Pipeline) pipeline += row.time;
  }
  EXPECT_GT(tensor, pipeline) << "sequence parallelism talks in every layer";
  EXPECT_GT(pipeline, Seconds{});
}

TEST(with_compute_scaled, leaves_messages_alone) {
  const StepTime step = estimate_step(example_scenario(), Calibration{}).time;
  const StepTime same = with_compute_scaled(step, 1);
  EXPECT_EQ(same.total().value(), step.total().value());
  const StepTime slower = with_compute_scaled(step, 1.5);
  EXPECT_EQ(slower.gemm.value(), 1.5 * step.gemm.value());
  EXPECT_EQ(slower.bubble.value(), 1.5 * step.bubble.value());
  EXPECT_EQ(slower.tensor_parallel.value(), step.tensor_parallel.value());
  EXPECT_EQ(slower.data_parallel.value(), step.data_parallel.value());
}

}  // namespace
}  // namespace hexaplan::costmodel
