#include "costmodel/step/execution.h"

#include <gtest/gtest.h>

#include "costmodel/step/estimate.h"
#include "example_scenario.h"

namespace hexaplan::costmodel {
namespace {

StepTime time_of(const Scenario& scenario) {
  return estimate_step(scenario, Calibration{}).time;
}

/// The example over eight GPUs of one node, by tensor and sequence parallelism.
Scenario tensor_parallel() {
  Scenario sc = example_scenario();
  sc.cluster.gpus = 8;
  sc.layout = {.tp = 8, .sp = true};
  sc.recipe.global_batch = 8;
  sc.framework.tensor_overlap = 0;
  sc.framework.tensor_overlap_asked = 1;
  return sc;
}

/// The example as two stages on two nodes.
Scenario pipelined(int vpp) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 8, .pp = 2, .vpp = vpp};
  sc.layout.schedule = vpp > 1 ? ScheduleKind::Interleaved : ScheduleKind::OneFOneB;
  sc.recipe.global_batch = 256;
  sc.framework.pipeline_overlap = 0;
  sc.framework.pipeline_overlap_interleaved = 1;
  return sc;
}

Scenario experts() {
  Scenario sc = example_of_experts();
  sc.framework.expert_overlap = 0;
  sc.framework.expert_overlap_asked = 0.75;
  sc.framework.expert_dispatch_merges_copies = false;
  return sc;
}

TEST(execution, overlapped_tensor_parallelism_waits_for_what_its_products_cannot_hide) {
  Scenario asked = tensor_parallel();
  asked.recipe.execution.tensor_overlap = true;
  EXPECT_LT(time_of(asked).tensor_parallel.value(), time_of(tensor_parallel()).tensor_parallel.value());
  EXPECT_GT(time_of(asked).tensor_parallel.value(), 0);
  EXPECT_EQ(time_of(asked).gemm.value(), time_of(tensor_parallel()).gemm.value());
}

TEST(execution, asking_a_framework_that_cannot_overlap_changes_nothing) {
  Scenario cannot = tensor_parallel();
  cannot.framework.tensor_overlap_asked = 0;
  Scenario asked = cannot;
  asked.recipe.execution.tensor_overlap = true;
  EXPECT_EQ(time_of(asked).total().value(), time_of(cannot).total().value());
}

TEST(execution, sequence_parallelism_pays_once_the_backward_hides_its_collectives) {
  Scenario with = tensor_parallel();
  with.framework.tensor_backward_overlap = true;
  Scenario in_line = with;
  in_line.framework.tensor_backward_overlap = false;
  EXPECT_LT(time_of(with).tensor_parallel.value(), 0.8 * time_of(in_line).tensor_parallel.value());
  Scenario without = with;
  without.layout.sp = false;
  EXPECT_LT(time_of(with).total().value(), time_of(without).total().value());
}

TEST(execution, a_backward_hides_nothing_where_the_order_on_the_device_is_open) {
  Scenario blackwell = tensor_parallel();
  blackwell.framework.tensor_backward_overlap = true;
  blackwell.cluster.gpu.architecture = "blackwell";
  EXPECT_FALSE(tensor_backward_overlap(blackwell));
  blackwell.recipe.execution.tensor_backward_overlap = true;
  EXPECT_TRUE(tensor_backward_overlap(blackwell));
}

TEST(execution, interleaved_schedules_hide_messages_while_the_pipeline_is_full) {
  EXPECT_EQ(pipeline_overlap(pipelined(1)), 0);
  EXPECT_EQ(pipeline_overlap(pipelined(2)), 1);
  Scenario in_line = pipelined(2);
  in_line.recipe.execution.pipeline_overlap = false;
  EXPECT_LT(time_of(pipelined(2)).pipeline_p2p.value(), time_of(in_line).pipeline_p2p.value());
}

TEST(execution, gradients_wait_where_nothing_overlaps) {
  Scenario in_line = example_scenario();
  in_line.layout = {.dp = 16};
  in_line.recipe.global_batch = 64;
  Scenario beside = in_line;
  in_line.recipe.execution.data_overlap = false;
  beside.recipe.execution.data_overlap = true;
  EXPECT_LT(time_of(beside).data_parallel.value(), time_of(in_line).data_parallel.value());
}

TEST(execution, tokens_hide_behind_another_micro_batch_where_asked) {
  Scenario asked = experts();
  asked.recipe.execution.expert_overlap = true;
  EXPECT_NEAR(time_of(asked).expert_parallel / time_of(experts()).expert_parallel, 0.25, 1e-9);
}

TEST(execution, dispatchers_differ_in_what_they_send) {
  Scenario deep = experts(), gathered = experts();
  deep.recipe.execution.dispatcher = ExpertDispatcher::DeepEp;
  gathered.recipe.execution.dispatcher = ExpertDispatcher::AllGather;
  const double plain = time_of(experts()).expert_parallel.value();
  EXPECT_LT(time_of(deep).expert_parallel.value(), plain);
  EXPECT_NE(time_of(gathered).expert_parallel.value(), plain);
}

TEST(execution, graphs_and_compilers_spare_the_host) {
  Scenario sc = example_scenario();
  sc.framework.partial_graph_host = 0.4, sc.framework.compiled_host = 0.5;
  EXPECT_EQ(host_share(sc), 1);
  sc.recipe.execution.compiled = true;
  EXPECT_EQ(host_share(sc), 0.5);
  sc.recipe.execution.graphs = CudaGraphs::Partial;
  EXPECT_EQ(host_share(sc), 0.2);
  sc.recipe.execution.graphs = CudaGraphs::FullIteration;
  EXPECT_EQ(host_share(sc), 0);
}

TEST(execution, a_slow_host_does_not_hold_up_a_graph) {
  Scenario slow = example_scenario();
  slow.framework.layer_host_forward = slow.framework.layer_host_backward = Seconds{1};
  EXPECT_GT(time_of(slow).launch.value(), 1);
  slow.recipe.execution.graphs = CudaGraphs::FullIteration;
  EXPECT_EQ(time_of(slow).launch.value(), 0);
}

}  // namespace
}  // namespace hexaplan::costmodel
