#include "presets/models/find_model.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "presets/catalog/catalog.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/json/utf8.h"
#include "presets/models/hub_models.h"
#include "presets/models/model_preset.h"
#include "tests/support/temporary_folder.h"

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

TEST(find_model, begins_with_the_family_of_a_name_that_no_preset_is_near) {
  const std::string text = message_of("Qwen3-Omni-30B");
  EXPECT_THAT(text, testing::HasSubstr("expected one of qwen3-"));
  EXPECT_THAT(text,
              testing::EndsWith("; any other model by its config.json, or its name on the hub: org/name"));
}

TEST(find_model, knows_presets_by_the_name_of_their_source_on_the_hub) {
  EXPECT_EQ(find_model("meta-llama/Llama-3.1-8B"), find_model("llama-3.1-8b"));
  EXPECT_EQ(find_model("qwen/qwen3-30b-a3b").name, "qwen3-30b-a3b");
}

TEST(find_model, knows_presets_by_the_names_of_models_with_the_same_config) {
  EXPECT_EQ(find_model("meta-llama/Llama-3.1-8B-Instruct").name, "llama-3.1-8b");
  EXPECT_EQ(find_model("nousresearch/meta-llama-3-8b").name, "llama-3-8b");
  EXPECT_EQ(find_model("deepseek-ai/DeepSeek-R1").name, "deepseek-v3");
}

/// meta-llama/codellama issue 188: only the base model was made for long sequences.
TEST(find_model, knows_code_llama_70b_and_what_was_trained_on_it_as_two_models) {
  const costmodel::ModelSpec base = find_model("codellama/CodeLlama-70b-hf");
  EXPECT_EQ(base.rotary.base, 1e6);
  EXPECT_EQ(base.max_positions, 16'384);
  for (const char* name : {"codellama/CodeLlama-70b-Instruct-hf", "codellama/CodeLlama-70b-Python-hf"}) {
    costmodel::ModelSpec tuned = find_model(name);
    EXPECT_EQ(tuned.rotary.base, 1e4) << name;
    EXPECT_EQ(tuned.max_positions, 4096) << name;
    tuned.name = base.name, tuned.rotary = base.rotary, tuned.max_positions = base.max_positions;
    EXPECT_EQ(tuned, base) << name;
  }
}

/// Two presets with one hub name would be answered by whichever is read first.
TEST(find_model, has_one_preset_for_every_name_on_the_hub) {
  std::map<std::string, std::string> owners;
  for (const std::string& preset : list_presets(PresetKind::Model)) {
    const ModelNames names = names_of_model_preset(read_json_file(find_preset(PresetKind::Model, preset)));
    std::vector<std::string> all = names.same_config;
    if (std::string own = hub_name_of_source(names.source); !own.empty()) all.push_back(std::move(own));
    for (const std::string& hub : all) {
      EXPECT_TRUE(is_hub_name(hub)) << preset << ": " << hub;
      const auto [at, is_new] = owners.emplace(lower(hub), preset);
      EXPECT_TRUE(is_new) << hub << " is " << at->second << " and " << preset;
    }
  }
}

TEST(find_model, offers_the_nearest_hub_name_and_says_that_nothing_is_downloaded) {
  const std::string message = message_of("meta-llama/Lama-3.1-8B");
  EXPECT_THAT(message,
              testing::HasSubstr("did you mean \"meta-llama/llama-3.1-8b\" (the preset llama-3.1-8b)?"));
  EXPECT_THAT(message, testing::HasSubstr("nothing is downloaded"));
  EXPECT_THAT(message_of("somebody/Llama-3.1-8B"), testing::HasSubstr("(the preset llama-3.1-8b)"));
}

/// A cache of huggingface_hub with one model of two revisions.
class FindModelInCache : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* revision : {"aaaa", "bbbb"}) {
      const std::filesystem::path snapshot = folder_ / "models--my-org--My-Model" / "snapshots" / revision;
      std::filesystem::create_directories(snapshot);
      std::ofstream{snapshot / "config.json"} << R"({"model_type": "gpt2", "n_layer": )"
                                              << (revision[0] == 'a' ? 3 : 5) << "}";
    }
    setenv("HF_HUB_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override { unsetenv("HF_HUB_CACHE"); }
  void point_main_to(const std::string& revision) const {
    std::filesystem::create_directories(folder_ / "models--my-org--My-Model" / "refs");
    std::ofstream{folder_ / "models--my-org--My-Model" / "refs" / "main"} << revision;
  }

  tests::TemporaryFolder own_;
  std::filesystem::path folder_ = own_.path();
};

TEST_F(FindModelInCache, reads_the_revision_that_main_points_to) {
  point_main_to("aaaa");
  EXPECT_EQ(find_model("my-org/My-Model").name, "My-Model");
  EXPECT_EQ(find_model("my-org/My-Model").layers, 3);
}

TEST_F(FindModelInCache, reads_some_revision_where_main_is_not_there) {
  EXPECT_EQ(find_model("my-org/My-Model").layers, 5);
  point_main_to("cccc");
  EXPECT_EQ(find_model("my-org/My-Model").layers, 5);
}

TEST_F(FindModelInCache, names_the_folder_where_a_model_is_missing) {
  EXPECT_THAT(message_of("my-org/Other-Model"), testing::HasSubstr(folder_.string()));
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

  tests::TemporaryFolder own_;
  std::filesystem::path folder_ = own_.path() / "my-gpt2";
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
