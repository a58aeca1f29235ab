#include "costmodel/step/execution.h"

#include <gtest/gtest.h>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_counts.h"
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

/// The example sharded by FSDP2 over two nodes, four micro-batches a step; `shard`: ranks of a group.
Scenario fully_sharded(GradientReduction reduction, int shard = 0) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 16};
  sc.layout.sharding = {.stage = 3, .group = shard};
  sc.recipe.global_batch = 64;
  sc.framework.reduction_can_wait = true;
  sc.framework.waiting_gradients_as_reduced = true;
  sc.framework.reduce_dtype = DType::Fp32;
  sc.framework.persistent_gradients = false;
  sc.recipe.execution.reduction = reduction;
  return sc;
}

double bytes_of(const Scenario& sc, std::string_view name, Instant instant) {
  double sum = 0;
  for (const TensorEntry& entry : build_ledger(sc, 0))
    if (entry.name == name && (entry.alive & instant) != 0) sum += entry.size().value();
  return sum;
}

/// Calls per step of a collective of the parameters.
double calls_of(const Scenario& sc, std::string_view name) {
  double calls = 0;
  for (const Operation& op : step_operations(sc, 0))
    if (op.name == name) calls += op.count;
  return calls;
}

TEST(execution, gradients_that_wait_for_the_last_micro_batch_are_whole_until_then) {
  const Scenario waits = fully_sharded(GradientReduction::Once);
  const Scenario every = fully_sharded(GradientReduction::Every);
  const double parameters = static_cast<double>(count_parameters(waits.model).total);
  EXPECT_NEAR(bytes_of(waits, "gradient.unreduced", kBackward), 4 * parameters, 0.01 * parameters);
  EXPECT_EQ(bytes_of(waits, "gradient.unreduced", kOptimizer), 0) << "reduced by then";
  EXPECT_EQ(bytes_of(every, "gradient.unreduced", kBackward), 0);
  Scenario in_16_bits = waits;
  in_16_bits.framework.waiting_gradients_as_reduced = false;
  EXPECT_NEAR(bytes_of(in_16_bits, "gradient.unreduced", kForward), 2 * parameters, 0.01 * parameters);
}

TEST(execution, gradients_that_wait_are_scattered_once_and_parameters_gathered_as_before) {
  const Scenario waits = fully_sharded(GradientReduction::Once);
  const Scenario every = fully_sharded(GradientReduction::Every);
  EXPECT_EQ(calls_of(every, "gradient.reduce"), 4 * calls_of(waits, "gradient.reduce"));
  EXPECT_EQ(calls_of(every, "parameter.gather"), calls_of(waits, "parameter.gather"));
}

/// Bytes per step of a collective of the parameters.
double payload_of(const Scenario& sc, std::string_view name) {
  double bytes = 0;
  for (const Operation& op : step_operations(sc, 0))
    if (op.name == name) bytes += op.count * op.payload.value();
  return bytes;
}

/// torch.amp, DeepSpeed's bf16 and Megatron-LM's --bf16 cast; a run in fp32 has nothing that could.
TEST(execution, training_in_fp32_gathers_and_reduces_four_bytes_per_parameter) {
  Scenario fp32 = fully_sharded(GradientReduction::Every);
  fp32.framework.gather_dtype = fp32.framework.reduce_dtype = DType::Bf16;
  fp32.framework.gradient_dtype = DType::Bf16;
  fp32.framework.master_parameters = true;
  const Scenario bf16 = fp32;
  fp32.recipe.precision = Precision::Fp32;
  for (const char* name : {"parameter.gather", "gradient.reduce"})
    EXPECT_DOUBLE_EQ(payload_of(fp32, name), 2 * payload_of(bf16, name)) << name;
  EXPECT_EQ(state_types(bf16).gradient, DType::Bf16);
  EXPECT_EQ(state_types(fp32).gradient, DType::Fp32);
  EXPECT_DOUBLE_EQ(bytes_of(fp32, "parameter.gathered", kBackward),
                   2 * bytes_of(bf16, "parameter.gathered", kBackward));
  fp32.recipe.gradient_dtype = DType::Bf16;
  EXPECT_DOUBLE_EQ(payload_of(fp32, "gradient.reduce"), payload_of(bf16, "gradient.reduce"))
      << "as the recipe says";
}

TEST(execution, replicas_of_hybrid_sharding_may_wait_alone) {
  const Scenario waits = fully_sharded(GradientReduction::ReplicasOnce, 8);
  const Scenario every = fully_sharded(GradientReduction::Every, 8);
  EXPECT_EQ(calls_of(every, "gradient.replica_reduce"), 4 * calls_of(waits, "gradient.replica_reduce"));
  EXPECT_EQ(calls_of(every, "gradient.reduce"), calls_of(waits, "gradient.reduce"));
  EXPECT_EQ(bytes_of(waits, "gradient.unreduced", kBackward), 0) << "shards are added up";
  EXPECT_LE(time_of(waits).data_parallel.value(), time_of(every).data_parallel.value());
}

TEST(execution, one_micro_batch_leaves_nothing_to_wait_for) {
  Scenario waits = fully_sharded(GradientReduction::Once);
  waits.recipe.global_batch = 16;
  Scenario every = waits;
  every.recipe.execution.reduction = GradientReduction::Every;
  EXPECT_EQ(time_of(waits).total().value(), time_of(every).total().value());
  EXPECT_EQ(bytes_of(waits, "gradient.unreduced", kBackward), 0);
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
  sc.framework.compiles_layers = true;
  EXPECT_EQ(host_share(sc), 0.5) << "what the profile does unasked";
  sc.recipe.execution.compiled = false;
  EXPECT_EQ(host_share(sc), 1);
  sc.framework.compiles_layers = false;
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
