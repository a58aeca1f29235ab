#include "presets/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "presets/json/object_reader.h"
#include "tests/presets/json/error_text.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

/// A preset folder of the user's own, named in the environment while the test runs.
class OwnFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "gpus");
    ::setenv("HEXAPLAN_PRESETS", root_.c_str(), 1);
  }
  void TearDown() override { ::unsetenv("HEXAPLAN_PRESETS"); }
  tests::TemporaryFolder own_;
  fs::path root_ = own_.path();
};

TEST(catalog, finds_a_preset_by_name_whatever_the_case_and_separators) {
  for (const char* name : {"h100-80-sxm", "H100-80-SXM", "h100_80_sxm", "H100 80 sxm"}) {
    EXPECT_EQ(find_preset(PresetKind::Gpu, name).filename(), "h100-80-sxm.json") << name;
  }
}

TEST(catalog, finds_a_preset_by_alias) {
  EXPECT_EQ(find_preset(PresetKind::Gpu, "H100").filename(), "h100-80-sxm.json");
  EXPECT_EQ(find_preset(PresetKind::Gpu, "A100-80GB").filename(), "a100-80-sxm.json");
  EXPECT_THAT(aliases_of(PresetKind::Gpu, "h200"), testing::Contains("h200-141gb"));
}

TEST(catalog, lists_names_sorted_and_without_the_alias_file) {
  const std::vector<std::string> names = list_presets(PresetKind::Gpu);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, testing::Contains("mi300x"));
  EXPECT_THAT(names, testing::Not(testing::Contains("aliases")));
}

TEST(catalog, every_alias_names_a_preset_and_hides_none) {
  for (const PresetKind kind : {PresetKind::Gpu, PresetKind::Cluster}) {
    const std::vector<std::string> names = list_presets(kind);
    ASSERT_FALSE(names.empty());
    const JsonDocument aliases =
        read_json_file(find_preset(kind, names.front()).replace_filename("aliases.json"));
    ObjectReader reader{aliases};
    for (const auto& [alias, name] : reader.members()) {
      EXPECT_THAT(names, testing::Contains(name.text())) << alias;
      EXPECT_EQ(find_preset(kind, alias).stem(), name.text()) << alias;
    }
  }
}

/// A framework that trains through another's profile, with the reason.
TEST(catalog, aliases_of_frameworks_say_what_they_stand_for) {
  const std::vector<std::string> profiles = list_presets(PresetKind::Framework);
  for (const auto& [framework, profile] : {std::pair{"trl", "hf-eager"},
                                           {"Axolotl", "hf-eager"},
                                           {"llama_factory", "hf-eager"},
                                           {"unsloth", "hf-eager"},
                                           {"torchtitan", "fsdp2"},
                                           {"torchtune", "fsdp2"},
                                           {"picotron", "nanotron"},
                                           {"nemo", "megatron"}}) {
    EXPECT_EQ(find_preset(PresetKind::Framework, framework).stem(), profile) << framework;
    EXPECT_THAT(note_of_alias(PresetKind::Framework, framework), testing::HasSubstr(profile)) << framework;
  }
  for (const std::string& profile : profiles) {
    EXPECT_EQ(note_of_alias(PresetKind::Framework, profile), "") << profile;
    for (const std::string& alias : aliases_of(PresetKind::Framework, profile)) {
      EXPECT_THAT(profiles, testing::Not(testing::Contains(alias)));
      EXPECT_EQ(find_preset(PresetKind::Framework, alias).stem(), profile);
    }
  }
  EXPECT_EQ(note_of_alias(PresetKind::Framework, "megatron-lm"), "");  // another name of the same
}

TEST(catalog, names_the_nearest_preset_when_there_is_none) {
  const std::string text = error_text([] { (void)find_preset(PresetKind::Gpu, "h1000-80-sxm"); });
  EXPECT_THAT(text,
              testing::StartsWith(
                  "gpu: got \"h1000-80-sxm\", expected one of h100-80-pcie, h100-80-sxm, h100-94-nvl, "));
  EXPECT_THAT(text, testing::EndsWith("; did you mean \"h100-80-sxm\"?"));
  EXPECT_THAT(error_text([] { (void)find_preset(PresetKind::Gpu, "rtx-4900"); }),
              testing::EndsWith("; did you mean \"rtx4090\"?"));
  EXPECT_THAT(error_text([] { (void)find_preset(PresetKind::Cluster, "lama3"); }),
              testing::EndsWith("; did you mean \"llama3\" (llama3-405b)?"));
}

TEST(catalog, does_not_leave_its_folders) {
  EXPECT_THROW((void)find_preset(PresetKind::Gpu, "../clusters/eos"), InputError);
  EXPECT_THROW((void)find_preset(PresetKind::Gpu, ""), InputError);
}

TEST_F(OwnFolder, adds_to_the_built_in_presets_and_wins) {
  std::ofstream{root_ / "gpus/mine.json"} << "{}";
  std::ofstream{root_ / "gpus/h200.json"} << "{}";
  EXPECT_EQ(find_preset(PresetKind::Gpu, "mine"), root_ / "gpus/mine.json");
  EXPECT_EQ(find_preset(PresetKind::Gpu, "h200"), root_ / "gpus/h200.json");
  EXPECT_NE(find_preset(PresetKind::Gpu, "b200").parent_path(), root_ / "gpus");
  const std::vector<std::string> names = list_presets(PresetKind::Gpu);
  EXPECT_EQ(std::count(names.begin(), names.end(), "h200"), 1);
  EXPECT_THAT(names, testing::Contains("mine"));
}

TEST_F(OwnFolder, must_be_a_folder) {
  ::setenv("HEXAPLAN_PRESETS", "/no/such/place", 1);
  EXPECT_EQ(error_text([] { (void)list_presets(PresetKind::Gpu); }),
            "HEXAPLAN_PRESETS: got \"/no/such/place\", expected a folder; unset it to use the built-in "
            "presets only");
}

}  // namespace
}  // namespace hexaplan::presets
