// `hexaplan presets` with a folder of the user's own in HEXAPLAN_PRESETS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "presets/json/read_json.h"
#include "run_hexaplan.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;
using testing::Not;

/// A good model and a broken one.
class OwnPresets : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "models");
    write("mine.json", R"({"name": "mine", "source": "a test", "config": {"model_type": "llama",
      "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 8, "num_attention_heads": 8,
      "vocab_size": 32000, "max_position_embeddings": 2048}})");
    write("broken.json", "{\"name\": ");
  }

  void write(const char* name, const char* text) const { std::ofstream{folder_ / "models" / name} << text; }
  [[nodiscard]] Finished run(const std::string& arguments) const {
    return run_hexaplan(arguments, {}, "HEXAPLAN_PRESETS='" + folder_.string() + "'");
  }

  tests::TemporaryFolder own_;
  std::filesystem::path folder_ = own_.path();
};

TEST_F(OwnPresets, one_that_cannot_be_read_is_named_with_its_problem_beside_all_others) {
  const Finished all = run("presets list");
  EXPECT_EQ(all.exit_code, 4);
  EXPECT_THAT(all.out, HasSubstr("\nmine "));
  EXPECT_THAT(all.out, HasSubstr("\nllama-3.1-8b "));
  EXPECT_THAT(all.out, HasSubstr("\nh100-80-sxm "));
  EXPECT_THAT(all.out, HasSubstr("\nbroken cannot be read: " + folder_.string() + "/models/broken.json:1:"));
  EXPECT_EQ(run("presets list gpus").exit_code, 0) << "no GPU is broken";
}

TEST_F(OwnPresets, one_that_cannot_be_read_stands_beside_the_kinds_in_json) {
  const Finished finished = run("presets list models --json");
  EXPECT_EQ(finished.exit_code, 4);
  const JsonValue answer = presets::parse_json(finished.out, "stdout").root;
  const auto named = [](const char* name) {
    return [name](const JsonValue& row) { return at(row, "name") == JsonValue{name}; };
  };
  const auto& models = *at(answer, "models").get_if<JsonArray>();
  EXPECT_EQ(std::ranges::count_if(models, named("mine")), 1);
  EXPECT_EQ(std::ranges::count_if(models, named("broken")), 0);
  const auto& unreadable = *at(answer, "unreadable").get_if<JsonArray>();
  ASSERT_EQ(unreadable.size(), 1U);
  EXPECT_EQ(at(unreadable.front(), "kind"), JsonValue{"models"});
  EXPECT_EQ(at(unreadable.front(), "name"), JsonValue{"broken"});
  EXPECT_THAT(*at(unreadable.front(), "problem").get_if<std::string>(), HasSubstr("broken.json:1:"));
  EXPECT_TRUE(at(json_of("presets list --json"), "unreadable").get_if<JsonArray>()->empty());
}

TEST_F(OwnPresets, others_are_found_beside_one_that_cannot_be_read) {
  EXPECT_EQ(run("presets show models mine").exit_code, 0);
  EXPECT_EQ(run("presets show models meta-llama/Llama-3.1-8B").exit_code, 0);
  EXPECT_EQ(run("estimate --model meta-llama/Llama-3.1-8B --cluster 8xH100").exit_code, 0);
  const Finished names = run("presets list models --names");
  EXPECT_EQ(names.exit_code, 0) << "for completion; no file is opened";
  EXPECT_THAT(names.out, HasSubstr("\nbroken\n"));
}

TEST_F(OwnPresets, one_that_cannot_be_read_is_refused_by_its_name) {
  const Finished shown = run("presets show models broken");
  EXPECT_EQ(shown.exit_code, 4);
  EXPECT_THAT(shown.err, HasSubstr("broken.json:1:"));
  EXPECT_THAT(run("estimate --model somebody/else --cluster 8xH100").err,
              HasSubstr("broken cannot be read and may be it ('hexaplan presets list models' says why); "));
  EXPECT_THAT(run_hexaplan("estimate --model somebody/else --cluster 8xH100").err,
              Not(HasSubstr("cannot be read")));
}

}  // namespace
}  // namespace hexaplan::cli
