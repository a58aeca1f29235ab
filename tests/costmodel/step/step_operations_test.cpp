#include "costmodel/step/step_operations.h"

#include <gtest/gtest.h>

#include <map>

#include "costmodel/step/estimate.h"
#include "costmodel/step/largest.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// Bytes per step by operation name: collectives' full tensors, kernels' traffic.
std::map<std::string_view, double> bytes_by_name(const Scenario& sc, int stage) {
  std::map<std::string_view, double> sum;
  for (const Operation& op : step_operations(sc, stage)) {
    sum[op.name] += op.count * (op.kind == OpKind::Collective ? op.payload : op.bytes).value();
  }
  return sum;
}

double parameters(const Scenario& sc, int stage) {
  const auto stages = plan_stages(sc);
  return ModelParameters{sc, stages}.of(stages[static_cast<std::size_t>(stage)]).trained.all();
}

TEST(step_operations, each_zero_stage_moves_what_its_paper_says) {
  struct Case {
    int stage;
    double reduced, gathered;  // bytes per parameter and step; fp32 gradients, bf16 parameters
  };
  const double microbatches = 16;
  // arXiv:1910.02054 §7: ZeRO-1 and 2 reduce once and gather once, ZeRO-3 gathers twice per pass
  for (const Case& c : {Case{0, 4, 0}, Case{1, 4, 2}, Case{3, 4 * microbatches, 2 * 2 * microbatches}}) {
    SCOPED_TRACE(c.stage);
    Scenario sc = example_scenario();
    sc.layout.sharding.stage = c.stage;
    const auto bytes = bytes_by_name(sc, 0);
    const double all = parameters(sc, 0);
    EXPECT_NEAR(bytes.count("gradient.reduce") ? bytes.at("gradient.reduce") / all : 0, c.reduced, 1e-9);
    EXPECT_NEAR(bytes.count("parameter.gather") ? bytes.at("parameter.gather") / all : 0, c.gathered, 1e-9);
  }
}

TEST(step_operations,
     a_tied_model_keeps_a_copy_of_its_embedding_only_where_the_pipeline_ends_on_another_stage) {
  const auto all_stages = [](bool tied, ScheduleKind schedule) {
    Scenario sc = example_scenario();
    sc.model.tied_embeddings = tied;
    sc.layout.schedule = schedule;
    return parameters(sc, 0) + parameters(sc, 1);
  };
  const double table = 128256 / 2 * 4096;  // per tensor-parallel rank
  EXPECT_EQ(all_stages(true, ScheduleKind::OneFOneB), all_stages(false, ScheduleKind::OneFOneB));
  EXPECT_EQ(all_stages(true, ScheduleKind::Zbv), all_stages(false, ScheduleKind::Zbv) - table);
}

TEST(step_operations, hybrid_sharding_reduces_the_shard_across_replicas) {
  Scenario sc = example_scenario();
  sc.layout.sharding = {.stage = 3, .group = 2};
  EXPECT_NEAR(bytes_by_name(sc, 0).at("gradient.replica_reduce"), 16 * 4 * parameters(sc, 0) / 2, 1);
}

TEST(step_operations, a_gradient_bucket_takes_whole_tensors_until_it_is_full) {
  struct Case {
    double elements;  // of a bucket
    double buckets;   // of 16 layers and the embedding
    std::string_view why;
  };
  // on one of two tensor-parallel ranks, in millions: down 29.4, gate and up 58.7, output 8.4, key and value
  // 4.2, query 8.4, embedding 262.7
  for (const Case& c :
       {Case{13e6, 16 * 3 + 1, "the attention's three matrices share one"},
        Case{8e6, 16 * 4 + 1, "key, value and query share one"},
        Case{88e6, 16 * (1 + 21.0 / 88) + 1, "the attention's begin one that the next layer fills"}}) {
    SCOPED_TRACE(c.why);
    Scenario sc = example_scenario();
    sc.layout.sharding.stage = 0;
    sc.framework.gradient_bucket_elements = c.elements;
    double reductions = 0;
    for (const Operation& op : step_operations(sc, 0))
      reductions += op.name == "gradient.reduce" ? op.count : 0;
    EXPECT_NEAR(reductions, c.buckets, 0.1);
  }
}

TEST(step_operations, adapters_leave_the_base_alone) {
  Scenario sc = example_scenario();
  sc.recipe.fine_tune = FineTune::Lora;
  sc.recipe.lora_rank = 8;
  const auto bytes = bytes_by_name(sc, 0);
  // 16 layers of rank 8: q and output 4096 + 4096, k and v 4096 + 1024, gate, up and down 4096 + 14336; half
  // of that on each tensor-parallel rank
  const double adapters = 16.0 * 8 * (2 * 8192 + 2 * 5120 + 3 * 18432) / 2;
  EXPECT_EQ(parameters(sc, 0), adapters);
  EXPECT_EQ(bytes.at("gradient.reduce"), 4 * adapters);
  EXPECT_EQ(bytes.at("parameter.gather"), 2 * adapters);
  EXPECT_EQ(bytes.at("optimizer.update"), sc.framework.optimizer_passes_bytes * adapters / sc.layout.dp);
}

TEST(step_operations, are_among_the_operations_that_an_explanation_lists) {
  const Scenario sc = example_scenario();
  bool listed = false;
  for (const PricedOperation& op : largest_operations(sc, Calibration{}, 0, 1000)) {
    listed |= op.operation.name == "optimizer.update";
  }
  EXPECT_TRUE(listed);
}

TEST(step_operations, an_explanation_lists_what_the_calls_of_collectives_cost_the_host) {
  Scenario sc = example_scenario();  // two stages of 16 layers, each a node; 16 micro-batches
  const auto calls_by_pass = [&] {
    std::map<Pass, PricedOperation> calls;
    for (const PricedOperation& op : largest_operations(sc, Calibration{}, 0, 1000)) {
      if (op.operation.name == "collective.host") calls[op.operation.pass] = op;
    }
    return calls;
  };
  EXPECT_TRUE(calls_by_pass().empty()) << "the profile has no such cost";
  sc.framework.pipeline_collective_host = Seconds{1e-3};
  const std::map<Pass, PricedOperation> calls = calls_by_pass();
  // Forward: two gathers and two scatters of each layer, and the embedding's scatter, by two ranks of a node.
  const PricedOperation& forward = calls.at(Pass::Forward);
  EXPECT_EQ(forward.runs, (4 * 16 + 1) * 16);
  EXPECT_NEAR(forward.per_step.value(), forward.runs * 2e-3, 1e-9);
  EXPECT_NEAR(forward.once.value(), 2e-3, 1e-12);
  // All of them is what the calls of every operation add up to: four replicas of a node reduce and gather.
  double all = 0, listed = 0;
  for (const PricedOperation& op : largest_operations(sc, Calibration{}, 0, 1000)) {
    if (op.operation.name == "collective.host") listed += op.per_step.value();
    if (op.operation.kind != OpKind::Collective || op.operation.name == "collective.host") continue;
    all += op.runs * op.operation.count * (op.operation.group == Group::Tensor ? 2e-3 : 4e-3);
  }
  EXPECT_NEAR(listed, all, 1e-9);
}

}  // namespace
}  // namespace hexaplan::costmodel
