// What `hexaplan verify` draws and compares.
#include "validator/executor/verify/verify.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/scenario/scenario_words.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/step/run_steps.h"
#include "validator/executor/verify/layout_space.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using validator::Mismatch;
using validator::Verification;

validator::VerifyOptions options() {
  validator::VerifyOptions how;
  how.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  return how;
}

std::string differences(const Verification& v) {
  std::string text = presets::to_command_words(v.scenario) + ":\n" + v.fault;
  for (const Mismatch& m : v.mismatches) {
    text += "  " + m.what + " of rank " + std::to_string(m.rank) + ": predicted " +
            std::to_string(m.predicted) + ", executed " + std::to_string(m.executed) + "\n";
  }
  return text;
}

/// Layouts in which every two choices meet, in parts that a machine tests side by side.
constexpr std::size_t kParts = 8;
class CoveringLayouts : public testing::TestWithParam<std::size_t> {};

TEST_P(CoveringLayouts, show_no_difference) {
  validator::ThreadRanks ranks;
  const std::vector<Scenario> all = validator::covering_scenarios(tiny_scenario(), 1);
  ASSERT_GT(all.size(), kParts);
  for (std::size_t i = GetParam(); i < all.size(); i += kParts) {
    const Verification v = validator::verify(all[i], options(), ranks);
    EXPECT_TRUE(v.equal()) << differences(v);
    EXPECT_GT(v.compared, 20) << presets::to_command_words(v.scenario);
  }
}
INSTANTIATE_TEST_SUITE_P(verify, CoveringLayouts, testing::Range(std::size_t{0}, kParts));

/// Found by draws: FLOPs of adapters beside queries whose matrix makes gates as well, and the padding of
/// outer states on the host to blocks of 8-bit moments.
TEST(verify, shows_no_difference_of_layouts_that_differed_once) {
  for (
      const char* words :
      {"--model \"layers=2 hidden=16 heads=6 ffn=24 vocab=61 head_dim=4 output_gate\" --layout \"tp3\" --seq "
       "24 "
       "--global-batch 1 --precision fp32 --fine-tune lora --lora-rank 3 --lora-targets qv",
       "--model \"layers=2 hidden=16 heads=8 ffn=24 vocab=61 head_dim=4\" --layout \"diloco2 dp1 tp4 zero1\" "
       "--seq 32 --global-batch 6 --precision fp32 --optimizer adamw-8bit --outer-steps 2 --outer-dtype bf16 "
       "--outer-states copy-on-host"}) {
    validator::ThreadRanks ranks;
    const Scenario sc = presets::read_command_words(words, tiny_scenario());
    EXPECT_EQ(costmodel::first_rejection(sc), std::nullopt);
    const Verification v = validator::verify(sc, options(), ranks);
    EXPECT_TRUE(v.equal()) << differences(v);
  }
}

TEST(verify, names_what_differs_from_another_prediction) {
  validator::ThreadRanks ranks;
  const Scenario executed = tiny_scenario({.tp = 2});
  validator::RunOptions run{.steps = 1};
  run.make_device = options().make_device;
  const validator::ExecutionReport report = validator::run_steps(executed, run, ranks);
  Verification same, other;
  validator::compare_with_prediction(executed, report, 1, same);
  EXPECT_TRUE(same.equal()) << differences(same);
  Scenario predicted = executed;
  predicted.layout.sp = true;
  predicted.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  validator::compare_with_prediction(predicted, report, 1, other);
  EXPECT_THAT(other.mismatches, Contains(Field(&Mismatch::what, HasSubstr("FLOPs of mlp.up (forward)"))));
  EXPECT_THAT(other.mismatches, Contains(Field(&Mismatch::what, HasSubstr("reduce-scatter over tensor"))));
  EXPECT_THAT(other.mismatches, Contains(Field(&Mismatch::what, HasSubstr("bytes of activations"))));
}

TEST(layout_space, draws_the_same_scenarios_for_the_same_seed_and_all_are_accepted) {
  const auto once = validator::random_scenarios(tiny_scenario(), 300, 7);
  const auto again = validator::random_scenarios(tiny_scenario(), 300, 7);
  ASSERT_EQ(once.size(), 300U);
  std::set<std::string> names;
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].layout, again[i].layout);
    EXPECT_EQ(costmodel::first_rejection(once[i]), std::nullopt);
    EXPECT_EQ(validator::first_not_executable(once[i]), std::nullopt);
    EXPECT_LE(once[i].layout.world_size(), validator::kMostRanks);
    names.insert(presets::to_command_words(once[i]));
  }
  EXPECT_GT(names.size(), 250U);
}

TEST(layout_space, is_told_in_words_that_the_command_line_reads_back) {
  const Scenario base = tiny_scenario();
  for (const Scenario& sc : validator::random_scenarios(base, 300, 11)) {
    const std::string words = presets::to_command_words(sc);
    const Scenario read = presets::read_command_words(words, base);
    EXPECT_EQ(read.model, sc.model) << words;
    EXPECT_EQ(read.layout, sc.layout) << words;
    EXPECT_EQ(read.recipe, sc.recipe) << words;
  }
}

TEST(layout_space, covering_scenarios_have_every_axis_beside_every_other) {
  const auto all = validator::covering_scenarios(tiny_scenario(), 3);
  const auto any = [&](auto condition) { return std::any_of(all.begin(), all.end(), condition); };
  const auto degree = [](const Scenario& s, int axis) {
    const costmodel::Layout& l = s.layout;
    const int degrees[] = {l.dp, l.tp, l.cp, l.pp, l.ep, l.sharding.stage + 1};
    return degrees[axis];
  };
  for (int a = 0; a < 6; ++a) {
    for (int b = a + 1; b < 6; ++b)
      EXPECT_TRUE(any([&](const Scenario& s) { return degree(s, a) > 1 && degree(s, b) > 1; })) << a << b;
  }
}

}  // namespace
}  // namespace hexaplan::tests
