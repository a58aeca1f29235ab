// Replicas that train apart between outer steps: every rank sends, allocates and computes what the cost model
// says, and all together what a rank per replica comes to. Against PyTorch: proofs/golden_step_test.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/step/step_counts.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/step/shrink.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::OuterStates;
using costmodel::Scenario;

struct Case {
  std::string name;
  Layout layout;
  std::int64_t every = 2;
  void (*change)(Scenario&) = [](Scenario&) {};
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
class outer_steps : public testing::TestWithParam<Case> {};

TEST_P(outer_steps, send_allocate_and_compute_what_was_predicted) {
  Scenario sc = tiny_scenario(GetParam().layout);
  sc.recipe.outer.every = GetParam().every;
  sc.recipe.global_batch = 2 * sc.layout.batch_ranks();
  GetParam().change(sc);
  expect_what_was_predicted(sc);
}

void experts(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12};
}

INSTANTIATE_TEST_SUITE_P(
    layouts, outer_steps,
    testing::Values(Case{"one_rank_each", {.outer_replicas = 2}}, Case{"one_replica", {.dp = 2}, 3},
                    Case{"three_replicas", {.outer_replicas = 3, .dp = 2, .sharding = {.stage = 1}}, 3},
                    Case{"zero2_bf16_host",
                         {.outer_replicas = 2, .dp = 2, .sharding = {.stage = 2}},
                         2,
                         [](Scenario& sc) {
                           sc.recipe.outer = {2, costmodel::DType::Bf16, OuterStates::Host};
                         }},
                    Case{"zero3_hybrid_copy_on_host",
                         {.outer_replicas = 2, .dp = 4, .sharding = {.stage = 3, .group = 2}},
                         2,
                         [](Scenario& sc) { sc.recipe.outer.states = OuterStates::CopyOnHost; }},
                    Case{"tied_pp2_tp2_sp",
                         {.outer_replicas = 2, .tp = 2, .pp = 2, .sp = true},
                         2,
                         [](Scenario& sc) { sc.model.tied_embeddings = true; }},
                    Case{"cp2_fp32",
                         {.outer_replicas = 2, .cp = 2, .sharding = {.stage = 1}},
                         2,
                         [](Scenario& sc) { sc.recipe.precision = costmodel::Precision::Fp32; }},
                    Case{"experts_ep2_zero1",
                         {.outer_replicas = 2, .dp = 2, .ep = 2, .sharding = {.stage = 1}},
                         2,
                         experts},
                    Case{"adapters_host",
                         {.outer_replicas = 2, .dp = 2, .sharding = {.stage = 3}},
                         2,
                         [](Scenario& sc) {
                           sc.recipe.fine_tune = costmodel::FineTune::Lora, sc.recipe.lora_rank = 2;
                           sc.recipe.outer.states = OuterStates::Host;
                         }},
                    Case{"muon_dropout",
                         {.outer_replicas = 2, .dp = 2, .sharding = {.stage = 1}},
                         2,
                         [](Scenario& sc) {
                           sc.recipe.optimizer = costmodel::Optimizer::Muon, sc.recipe.dropout = 0.25;
                         }}),
    [](const testing::TestParamInfo<Case>& of) { return of.param.name; });

/// Nothing else crosses from one replica to another, and outer gradients once in `every` steps.
TEST(outer_step_messages, are_all_that_replicas_exchange) {
  Scenario sc = tiny_scenario({.outer_replicas = 2, .dp = 2});
  sc.recipe.outer.every = 2;
  double elements = 0, messages = 0;
  for (const costmodel::CollectiveCount& row : costmodel::count_step(sc, 0).collectives) {
    if (row.group != costmodel::Group::Outer) continue;
    EXPECT_EQ(row.operation, "outer.gradient_reduce");
    elements += row.bytes.value() / 4 * 2;
    messages += row.messages * 2;
  }
  // Four layers, the embedding, and the final norm with the output layer.
  EXPECT_DOUBLE_EQ(messages, 6);
  const TinyRun run = run_tiny(sc, 4);
  std::int64_t sent = 0;
  for (const auto& row : run.report.ranks.at(0).traffic) {
    if (row.group == costmodel::Group::Outer) sent += row.count.messages;
  }
  EXPECT_EQ(sent, 12);
  std::int64_t parameters = 0;
  for (const auto& [key, values] : run.parameters) parameters += std::ssize(values);
  EXPECT_DOUBLE_EQ(elements, static_cast<double>(parameters));
}

/// Between outer steps replicas go their own ways.
TEST(outer_step_messages, replicas_differ_until_they_meet) {
  Scenario sc = tiny_scenario({.outer_replicas = 2});
  sc.recipe.outer.every = 3;
  const TinyRun apart = run_tiny(sc, 2);
  Scenario together = tiny_scenario({.dp = 2});
  const TinyRun parallel = run_tiny(together, 2);
  EXPECT_GT(validator::largest_difference(apart.parameters, parallel.parameters).relative, 1e-6);
}

TEST(outer_steps_shrunk, are_taken_every_second_step) {
  Scenario sc = tiny_scenario({.outer_replicas = 2, .dp = 4});
  sc.recipe.outer.every = 500;
  const Scenario small = validator::shrink(sc, 4);
  EXPECT_EQ(small.recipe.outer.every, 2);
  EXPECT_EQ(small.layout.outer_replicas, 2);
  EXPECT_EQ(small.layout.dp, 2);
}

}  // namespace
}  // namespace hexaplan::tests
