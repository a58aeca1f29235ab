#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Scenario;
using costmodel::ScheduleKind;

struct Case {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
};

class ShardedStep : public testing::TestWithParam<Case> {};

/// Two steps, so that the second sees what the first updated.
TEST_P(ShardedStep, equals_the_step_of_one_rank) {
  Scenario sc = tiny_scenario(GetParam().layout);
  GetParam().change(sc);
  const TinyRun sharded = run_tiny(sc);
  const TinyRun single = run_tiny(on_one_rank(sc));
  ASSERT_EQ(single.report.steps.size(), 2U);
  ASSERT_EQ(sharded.report.steps.size(), 2U);
  ASSERT_FALSE(single.parameters.empty());
  for (std::size_t i = 0; i < single.report.steps.size(); ++i) {
    const auto& a = sharded.report.steps[i];
    const auto& b = single.report.steps[i];
    EXPECT_NEAR(a.loss, b.loss, 1e-10 * b.loss);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-10 * b.gradient_norm);
  }
  const auto worst = validator::largest_difference(sharded.parameters, single.parameters);
  EXPECT_LE(worst.relative, 1e-10) << worst.parameter.second << " of unit " << worst.parameter.first;
}

void tie(Scenario& sc) {
  sc.model.tied_embeddings = true;
}

INSTANTIATE_TEST_SUITE_P(
    validator, ShardedStep,
    testing::Values(Case{"tp2", {.tp = 2}}, Case{"tp2_sp", {.tp = 2, .sp = true}},
                    Case{"tp4_more_than_kv_heads", {.tp = 4}}, Case{"tp8_sp", {.tp = 8, .sp = true}},
                    Case{"dp4", {.dp = 4}}, Case{"zero1", {.dp = 4, .sharding = {.stage = 1}}},
                    Case{"zero2", {.dp = 4, .sharding = {.stage = 2}}},
                    Case{"zero3", {.dp = 4, .sharding = {.stage = 3}}},
                    Case{"zero3_hybrid", {.dp = 4, .sharding = {.stage = 3, .group = 2}}},
                    Case{"zero1_hybrid", {.dp = 4, .sharding = {.stage = 1, .group = 2}}},
                    Case{"zero3_by_3",
                         {.dp = 3, .sharding = {.stage = 3}},
                         [](Scenario& sc) { sc.recipe.global_batch = 6; }},
                    Case{"zero2_tp2_sp", {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 2}}},
                    Case{"zero3_tp4", {.dp = 2, .tp = 4, .sharding = {.stage = 3}}},
                    Case{"gpipe", {.pp = 2, .schedule = ScheduleKind::GPipe}}, Case{"pp4", {.pp = 4}},
                    Case{"interleaved", {.pp = 2, .vpp = 2, .schedule = ScheduleKind::Interleaved}},
                    Case{"all", {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 1}}},
                    Case{"tied", {.tp = 2}, tie}, Case{"tied_pp2", {.pp = 2}, tie},
                    Case{"tied_zero3", {.dp = 2, .sharding = {.stage = 3}}, tie},
                    Case{"tied_zero3_pp2_tp2_sp",
                         {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 3}},
                         tie}),
    [](const testing::TestParamInfo<Case>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
