#include "presets/models/find_model.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

std::string message_of(const std::string& name) {
  try {
    static_cast<void>(find_model(name));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(find_model, knows_presets_by_name_and_alias_in_any_case) {
  EXPECT_EQ(find_model("llama-3.1-8b").name, "llama-3.1-8b");
  EXPECT_EQ(find_model("Llama-3.1-8B"), find_model("llama-3.1-8b"));
  EXPECT_EQ(find_model("llama3.1-8b"), find_model("llama-3.1-8b"));
  EXPECT_EQ(find_model("deepseek-r1").name, "deepseek-v3");
}

TEST(find_model, names_the_nearest_preset) {
  EXPECT_THAT(message_of("lama-3.1-8b"), testing::HasSubstr("did you mean \"llama-3.1-8b\"?"));
  EXPECT_THAT(message_of("lama-3.1-8b"), testing::StartsWith("model: got \"lama-3.1-8b\", expected one of "));
}

class FindModelByPath : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream{folder_ / "config.json"} << R"({"model_type": "gpt2"})";
    std::ofstream{folder_ / "mine.json"}
        << R"({"name": "mine", "source": "a test", "config": {"model_type": "gpt2"}})";
    std::ofstream{folder_ / "misspelt.json"}
        << R"({"name": "mine", "sorce": "a test", "config": {"model_type": "gpt2"}})";
    std::ofstream{folder_ / "bad.json"}
        << R"({"name": "mine", "source": "a test", "config": {"model_type": "gpt2", "n_layer": 0}})";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // One folder per test: tests run side by side.
  std::filesystem::path folder_ = std::filesystem::path{testing::TempDir()} / "hexaplan-find-model" /
                                  testing::UnitTest::GetInstance()->current_test_info()->name() / "my-gpt2";
};

TEST_F(FindModelByPath, reads_a_config_a_folder_with_one_or_a_preset_file) {
  EXPECT_EQ(find_model((folder_ / "config.json").string()).name, "my-gpt2");
  EXPECT_EQ(find_model(folder_.string()).name, "my-gpt2");
  EXPECT_EQ(find_model(folder_.string() + "/").name, "my-gpt2");
  EXPECT_EQ(find_model((folder_ / "mine.json").string()).name, "mine");
}

TEST_F(FindModelByPath, unknown_keys_of_a_preset_file_are_errors) {
  const std::string file = (folder_ / "misspelt.json").string();
  EXPECT_EQ(message_of(file),
            file + ": /source: got nothing, expected this key; is \"sorce\" a misspelling of it?");
}

TEST_F(FindModelByPath, errors_inside_a_preset_point_into_its_config) {
  const std::string file = (folder_ / "bad.json").string();
  EXPECT_EQ(message_of(file), file + ": /config/n_layer: got 0, expected a whole number from 1 to 10000");
}

}  // namespace
}  // namespace hexaplan::presets
