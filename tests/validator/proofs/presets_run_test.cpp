// Every model preset, made small, runs a training step, or is refused by a rule that stands here.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "costmodel/spec/rules.h"
#include "presets/catalog/catalog.h"
#include "presets/models/find_model.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/step/run_steps.h"
#include "validator/executor/step/shrink.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;

Scenario shrunk_preset(const std::string& name) {
  Scenario sc = tiny_scenario({});
  sc.model = presets::find_model(name);
  sc.recipe.sequence = 64;
  return validator::shrink(sc);
}

validator::StepReport one_step(const Scenario& sc) {
  validator::RunOptions options;
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  validator::ThreadRanks ranks;
  return validator::run_steps(sc, options, ranks).steps.at(0);
}

/// model_type -> rule that refuses its presets.
const std::map<std::string, std::string> kRefusedFamilies{
    {"apertus", "executor-activation"},  {"deepseek_v3", "executor-model"},
    {"glm4_moe_lite", "executor-model"}, {"llama4", "executor-model"},
    {"qwen3_next", "executor-model"},    {"qwen3_5", "executor-model"},
    {"qwen3_5_moe", "executor-model"},   {"nemotron_h", "executor-model"},
    {"falcon_mamba", "executor-model"},  {"jamba", "executor-model"},
    {"minimax", "executor-model"},       {"kimi_linear", "executor-model"},
    {"kolibri1", "executor-model"}};
constexpr std::size_t kRefusedPresets = 17;

TEST(model_presets, run_a_step_shrunk_or_are_refused_by_the_rule_that_stands_here) {
  std::map<std::string, std::string> refused;
  std::size_t ran = 0;
  for (const std::string& name : presets::list_presets(presets::PresetKind::Model)) {
    SCOPED_TRACE(name);
    const Scenario sc = shrunk_preset(name);
    ASSERT_FALSE(costmodel::first_rejection(sc)) << costmodel::first_rejection(sc)->reason;
    if (const auto missing = validator::first_not_executable(sc)) {
      refused[sc.model.family] = missing->rule;
      continue;
    }
    const validator::StepReport step = one_step(sc);
    // Random tokens: about as good as guessing.
    EXPECT_NEAR(step.loss - step.balance_loss, std::log(static_cast<double>(sc.model.vocab)), 0.5);
    EXPECT_GT(step.gradient_norm, 0);
    ++ran;
  }
  EXPECT_EQ(refused, kRefusedFamilies);
  EXPECT_EQ(ran + kRefusedPresets, presets::list_presets(presets::PresetKind::Model).size());
}

}  // namespace
}  // namespace hexaplan::tests
