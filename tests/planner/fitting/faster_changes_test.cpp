#include "planner/fitting/faster_changes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "presets/scenario/scenario_request.h"

namespace hexaplan::planner {
namespace {

struct Question {
  costmodel::Scenario scenario;
  costmodel::Calibration calibration;
  [[nodiscard]] costmodel::Estimate price() const { return costmodel::estimate_step(scenario, calibration); }
  [[nodiscard]] std::vector<FasterChange> faster(std::size_t most = 20, const MayPropose& may = {}) const {
    return faster_changes(scenario, price(), calibration, most, may);
  }
};

Question question(const char* layout, costmodel::Recipe recipe, const char* framework = "megatron") {
  presets::ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = "8xH100";
  request.framework = framework;
  request.layout = presets::parse_layout(layout, "layout");
  request.recipe = std::move(recipe);
  presets::CalibratedScenario found = presets::resolve_calibrated(request);
  return {std::move(found.scenario), std::move(found.calibration)};
}

/// Everything recomputed and four ranks per matrix: it fits with most of the memory to spare.
Question wasteful() {
  return question(
      "tp4 dp2 sp zero1",
      {.sequence = 4096, .global_batch = 16, .recompute = {.mode = costmodel::RecomputeMode::Full}});
}

TEST(faster_changes, of_a_plan_that_recomputes_in_vain_begin_with_what_it_wastes) {
  const Question asked = wasteful();
  ASSERT_TRUE(fits_safely(asked.price()));
  std::vector<std::string> said;
  for (const FasterChange& change : asked.faster()) {
    ASSERT_EQ(change.settings.size(), 1U);
    said.push_back(fmt::format("{} {}", change.settings[0].name, change.settings[0].value));
  }
  EXPECT_THAT(said, testing::IsSupersetOf({"recompute none", "layout tp2 dp4"}));
}

TEST(faster_changes, are_faster_fit_safely_and_come_fastest_first) {
  const Question asked = wasteful();
  const costmodel::Estimate now = asked.price();
  costmodel::Seconds before{0};
  for (const FasterChange& change : asked.faster()) {
    EXPECT_TRUE(fits_safely(change.estimate)) << change.what;
    EXPECT_LT(change.estimate.time.total(), now.time.total() * (1 - kWorthSaying)) << change.what;
    EXPECT_EQ(change.estimate.time.total(),
              costmodel::estimate_step(change.scenario, asked.calibration).time.total());
    EXPECT_EQ(change.scenario.recipe.global_batch, asked.scenario.recipe.global_batch) << change.what;
    EXPECT_GE(change.estimate.time.total(), before) << change.what;
    before = change.estimate.time.total();
  }
  EXPECT_EQ(asked.faster(2).size(), 2U);
}

TEST(faster_changes, of_a_plan_that_does_not_fit_are_those_that_do) {
  const Question asked = question("dp8", {.sequence = 4096, .global_batch = 8});
  ASSERT_FALSE(fits_safely(asked.price()));
  for (const FasterChange& change : asked.faster()) EXPECT_TRUE(fits_safely(change.estimate)) << change.what;
}

TEST(faster_changes, are_only_those_that_may_be_proposed) {
  const auto keeps_recomputation = [](const costmodel::Scenario& s) {
    return s.recipe.recompute.mode == costmodel::RecomputeMode::Full;
  };
  const auto changes = wasteful().faster(20, keeps_recomputation);
  EXPECT_FALSE(changes.empty());
  for (const FasterChange& change : changes) EXPECT_TRUE(keeps_recomputation(change.scenario)) << change.what;
}

/// DeepSpeed recomputes all of a layer or nothing (deepspeed.json, recompute), and cuts no matrices.
TEST(faster_changes, are_what_the_framework_has) {
  const Question asked =
      question("dp8 zero3",
               {.sequence = 4096, .global_batch = 32, .recompute = {.mode = costmodel::RecomputeMode::Full}},
               "deepspeed");
  const auto changes = asked.faster();
  EXPECT_FALSE(changes.empty());
  for (const FasterChange& change : changes) {
    EXPECT_NE(change.scenario.recipe.recompute.mode, costmodel::RecomputeMode::Selective) << change.what;
    EXPECT_EQ(change.scenario.layout.tp, 1) << change.what;
    EXPECT_EQ(change.scenario.layout.sp, false) << change.what;
  }
}

TEST(faster_changes, say_that_matrices_gain_sequence_parallelism) {
  int gained = 0;
  for (const FasterChange& change :
       question("tp4 dp2 zero1", {.sequence = 4096, .global_batch = 16}).faster()) {
    bool said = false;
    for (const ChangedSetting& setting : change.settings) said = said || setting.value == "sp";
    EXPECT_EQ(change.scenario.layout.sp, said) << change.what;
    gained += change.scenario.layout.sp ? 1 : 0;
  }
  EXPECT_GT(gained, 0);
}

}  // namespace
}  // namespace hexaplan::planner
