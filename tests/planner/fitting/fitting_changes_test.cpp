#include "planner/fitting/fitting_changes.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "presets/scenario/scenario_request.h"

namespace hexaplan::planner {
namespace {

struct Question {
  costmodel::Scenario scenario;
  costmodel::Calibration calibration;
};

Question question(const char* model, const char* cluster, const char* framework, const char* layout,
                  costmodel::Recipe recipe) {
  presets::ScenarioRequest request;
  request.model = model;
  request.cluster = cluster;
  request.framework = framework;
  request.layout = presets::parse_layout(layout, "layout");
  request.recipe = std::move(recipe);
  presets::CalibratedScenario found = presets::resolve_calibrated(request);
  return {std::move(found.scenario), std::move(found.calibration)};
}

/// The question that newcomers ask most: a 7B model on a card of 24 GB.
Question lora_on_24_gb() {
  return question("llama-2-7b", "1xRTX3090", "hf-eager", "",
                  {.sequence = 2048, .fine_tune = costmodel::FineTune::Lora});
}

std::vector<std::string> words(const FittingChange& change) {
  std::vector<std::string> all;
  for (const ChangedSetting& setting : change.settings)
    all.push_back(fmt::format("{} {}", setting.name, setting.value));
  return all;
}

costmodel::Estimate with(const Question& asked, const FittingChange& change) {
  costmodel::Scenario scenario = asked.scenario;
  scenario.recipe = change.recipe;
  scenario.layout = change.layout;
  return costmodel::estimate_step(scenario, asked.calibration);
}

TEST(fitting_changes, lora_of_7b_fits_a_card_of_24_gb_with_full_recomputation) {
  const Question asked = lora_on_24_gb();
  ASSERT_FALSE(std::holds_alternative<costmodel::Fits>(
      costmodel::estimate_step(asked.scenario, asked.calibration).verdict));
  const auto changes = fitting_changes(asked.scenario, asked.calibration, 10);
  ASSERT_FALSE(changes.empty());
  EXPECT_THAT(words(changes.front()), testing::ElementsAre("recompute full"));
}

TEST(fitting_changes, of_full_fine_tuning_are_adapters_too) {
  const Question q = question("llama-3.1-8b", "1xRTX4090", "hf-eager", "",
                              {.sequence = 2048, .fine_tune = costmodel::FineTune::Full});
  const std::vector<FittingChange> changes = fitting_changes(q.scenario, q.calibration, 3);
  ASSERT_FALSE(changes.empty());
  for (const FittingChange& change : changes)
    EXPECT_NE(change.recipe.fine_tune, costmodel::FineTune::Full)
        << "all parameters and their moments take 120 GB";
}

TEST(fitting_changes, each_fits_and_is_unlikely_to_run_out_of_memory) {
  const Question questions[] = {
      lora_on_24_gb(),
      question("llama-3.1-8b", "8xH100", "megatron", "", {.sequence = 8192, .global_batch = 64}),
      question("llama-3.1-8b", "2xL40S", "fsdp2", "", {.sequence = 4096, .global_batch = 4})};
  for (const Question& asked : questions) {
    const auto changes = fitting_changes(asked.scenario, asked.calibration, 100);
    EXPECT_FALSE(changes.empty());
    for (const FittingChange& change : changes) {
      const costmodel::Estimate estimate = with(asked, change);
      EXPECT_TRUE(std::holds_alternative<costmodel::Fits>(estimate.verdict))
          << fmt::format("{}", fmt::join(words(change), ", "));
      EXPECT_LE(estimate.out_of_memory_probability, kDefaultRisk);
      EXPECT_EQ(estimate.time.total().value(), change.step.value());
    }
  }
}

// Trainer has no tensor, context or pipeline parallelism, Megatron-LM no ZeRO-2.
TEST(fitting_changes, are_within_what_the_framework_can_do) {
  struct Case {
    const char *framework, *model, *cluster;
    const char* cannot;  // a regular expression
  };
  const Case cases[] = {{"hf-eager", "llama-3.2-1b", "8xRTX3090", "layout (tp|cp|pp|sp).*"},
                        {"ddp", "llama-3.2-1b", "8xRTX3090", "layout (tp|cp|pp|sp).*"},
                        {"megatron", "llama-3.1-8b", "8xH100", "layout (zero2|fsdp)"},
                        {"fsdp2", "llama-3.1-8b", "8xL40S", "layout zero1"}};
  for (const Case& c : cases) {
    const Question asked =
        question(c.model, c.cluster, c.framework, "", {.sequence = 8192, .global_batch = 64});
    const auto changes = fitting_changes(asked.scenario, asked.calibration, 1000);
    EXPECT_FALSE(changes.empty()) << c.framework;
    for (const FittingChange& change : changes)
      EXPECT_THAT(words(change), testing::Not(testing::Contains(testing::MatchesRegex(c.cannot))))
          << c.framework;
  }
}

/// A change that fits without one of its parts is that shorter change.
TEST(fitting_changes, none_contains_another) {
  const Question asked =
      question("llama-3.1-8b", "8xH100", "megatron", "", {.sequence = 8192, .global_batch = 64});
  const auto changes = fitting_changes(asked.scenario, asked.calibration, 1000);
  for (const FittingChange& change : changes) {
    for (const FittingChange& other : changes) {
      if (&change == &other) continue;
      EXPECT_THAT(words(change), testing::Not(testing::IsSupersetOf(words(other))));
    }
  }
}

TEST(fitting_changes, what_is_not_modelled_is_said_and_comes_last) {
  const Question asked = lora_on_24_gb();
  bool unmodelled = false;
  for (const FittingChange& change : fitting_changes(asked.scenario, asked.calibration, 1000)) {
    costmodel::Scenario changed = asked.scenario;
    changed.recipe = change.recipe;
    changed.layout = change.layout;
    EXPECT_EQ(change.not_modelled, newly_not_modelled(asked.scenario, changed));
    EXPECT_FALSE(unmodelled && change.not_modelled.empty()) << "a modelled change after one that is not";
    unmodelled = !change.not_modelled.empty();
  }
}

/// 70B in full on one card of 80 GB: no change of recipe or layout does.
TEST(fitting_changes, are_none_where_nothing_helps) {
  const Question asked = question("llama-3.1-70b", "1xH100", "hf-eager", "", {.sequence = 4096});
  EXPECT_THAT(fitting_changes(asked.scenario, asked.calibration, 10), testing::IsEmpty());
}

}  // namespace
}  // namespace hexaplan::planner
