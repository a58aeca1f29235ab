// What a comparison tells, as a profile of the user's own.
#include "presets/oracle/own_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "presets/frameworks/framework_preset.h"
#include "recorded_answers.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::Saved;
using costmodel::SavedRule;

/// A recorded case under a profile that has `rule` for `tensor` in place of its own.
costmodel::Scenario with_rule(const RecordedAnswer& recorded, Saved tensor, SavedRule rule) {
  costmodel::Scenario sc = recorded.scenario;
  sc.framework.saved_when.push_back({0, tensor, rule});
  return sc;
}

bool keeps_right(const costmodel::Scenario& sc, const FrameworkStep& step) {
  return std::ranges::all_of(compare_step(sc, step), [](const ComparedNumber& n) {
    return n.group != ComparedGroup::Kept || n.holds();
  });
}

TEST(own_profile, says_nothing_where_nothing_differs) {
  const RecordedAnswer& recorded = recorded_answer("llama");
  const OwnProfile own = own_profile(recorded.scenario, recorded.step(), "hf-eager");
  EXPECT_TRUE(own.file.is_null());
  EXPECT_TRUE(own.said.empty());
}

struct Wrong {
  std::string name;
  Saved tensor;
  SavedRule rule;
};
TEST(own_profile, corrects_one_wrong_rule) {
  const Wrong cases[] = {{"llama", Saved::NormOutput, {.compute = 1}},
                         {"llama", Saved::NormInput, {}},
                         {"llama", Saved::ActivationInner, {.compute = 3}},
                         {"experts", Saved::ExpertInner, {}},
                         {"fsdp2", Saved::ActivationInner, {}}};
  for (const Wrong& c : cases) {
    const RecordedAnswer& recorded = recorded_answer(c.name);
    costmodel::Scenario sc = with_rule(recorded, c.tensor, c.rule);
    ASSERT_FALSE(keeps_right(sc, recorded.step())) << c.name;
    const OwnProfile own = own_profile(sc, recorded.step(), "hf-eager");
    EXPECT_EQ(own.said.size(), 1U) << c.name;
    sc.framework = own.profile;
    EXPECT_TRUE(keeps_right(sc, recorded.step())) << c.name << ": " << testing::PrintToString(own.said);
  }
}

TEST(own_profile, is_a_file_for_the_option_framework) {
  const RecordedAnswer& recorded = recorded_answer("llama");
  costmodel::Scenario sc = with_rule(recorded, Saved::NormOutput, {.compute = 1});
  sc.framework.name = "hf-eager";
  const OwnProfile own = own_profile(sc, recorded.step(), "hf-eager");
  const tests::TemporaryFolder folder;
  const FrameworkPreset read = read_framework_preset(folder.file("own_profile_test.json", to_text(own.file)));
  EXPECT_EQ(read.inherits, "hf-eager");
  EXPECT_EQ(read.oracle, OracleSteps::Transformers);
  EXPECT_EQ(read.profile.saved_when.back().tensor, Saved::NormOutput);
  EXPECT_EQ(read.profile.saved_when.back().rule, (SavedRule{.compute = 2}));
  EXPECT_THAT(own.file.find("sources")->find("saved_when")->get_if<std::string>(),
              testing::Pointee(testing::HasSubstr("torch 2.15.0")));
}

TEST(own_profile, lists_what_no_field_says) {
  const RecordedAnswer& recorded = recorded_answer("llama");
  FrameworkStep step = recorded.step();
  step.peaks[costmodel::index_of(costmodel::kLoss)] = costmodel::Bytes{1e12};
  const OwnProfile own = own_profile(recorded.scenario, step, "hf-eager");
  EXPECT_TRUE(own.file.is_null());
  EXPECT_THAT(own.not_said, testing::IsSupersetOf({"peak", "peak: loss"}));
}

}  // namespace
}  // namespace hexaplan::presets
