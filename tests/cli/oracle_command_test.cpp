// `hexaplan oracle` with Pythons that answer as PyTorch did, or in no way that is expected.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "presets/json/json_value.h"
#include "presets/json/read_json.h"
#include "run_hexaplan.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// A program in the place of Python.
class FakePython {
 public:
  explicit FakePython(const std::string& commands) : script_{"#!/bin/sh\n" + commands + "\n", ".sh"} {
    fs::permissions(script_.path(), fs::perms::owner_all);
  }
  [[nodiscard]] const std::string& path() const { return script_.path(); }

 private:
  TemporaryFile script_;
};

const presets::JsonValue& recorded_llama() {
  static const presets::JsonDocument file =
      presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/oracle/answers.json");
  return file.root.find("cases")->get_if<presets::JsonArray>()->front();
}

/// The recorded question about a small Llama, and a Python that knows the answer.
struct Recorded {
  TemporaryFile scenario{presets::to_text(*recorded_llama().find("scenario")), ".json"};
  TemporaryFile answer{presets::to_text(*recorded_llama().find("answer")), ".json"};
  FakePython python{"echo 'stage: a step' >&2; cat " + answer.path()};
  [[nodiscard]] std::string ask(const std::string& more = {}) const {
    return fmt::format("oracle --scenario {} --python {} {}", scenario.path(), python.path(), more);
  }
};

TEST(oracle_command, shows_totals_instants_and_layers_and_a_sentence) {
  const Recorded recorded;
  const Finished run = run_hexaplan(recorded.ask());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* text :
       {"predicted", "PyTorch", "torch 2.15.0", "bf16 weights", "parameters of the model", "optimizer states",
        "Live tensors at their peak during", "head backward", "Kept for backward by one layer x 3",
        "mlp bf16", "numbers differ; furthest off is"})
    EXPECT_THAT(run.out, HasSubstr(text));
  EXPECT_THAT(run.err, HasSubstr(": a step\n"));
}

TEST(oracle_command, says_all_of_it_as_json) {
  const Recorded recorded;
  const presets::JsonValue result = json_of(recorded.ask("--json"));
  EXPECT_EQ(at(result, "schema"), presets::JsonValue{"hexaplan/oracle/1"});
  EXPECT_EQ(at(result, "versions.torch"), presets::JsonValue{"2.15.0"});
  EXPECT_EQ(at(result, "scenario.framework"), presets::JsonValue{"hf-eager"});
  bool found = false;
  for (const presets::JsonValue& n : *at(result, "numbers").get_if<presets::JsonArray>()) {
    if (at(n, "what") != presets::JsonValue{"mlp bf16"}) continue;
    found = true;
    EXPECT_EQ(at(n, "equal"), presets::JsonValue{true});
    EXPECT_EQ(number_at(n, "predicted"), number_at(n, "pytorch"));
    EXPECT_EQ(at(n, "pytorch_tensors").get_if<presets::JsonArray>()->size(), 4U);
  }
  EXPECT_TRUE(found);
}

TEST(oracle_command, keeps_a_profile_with_which_nothing_differs_any_more) {
  const Recorded recorded;
  const TemporaryFile wrong{R"({"description": "x", "inherits": "hf-eager", "saved": {"norm_output": {}}})",
                            ".json"};
  const TemporaryFile mine{"", ".json"};
  const Finished before =
      run_hexaplan(recorded.ask(fmt::format("--framework {} --save {}", wrong.path(), mine.path())));
  EXPECT_EQ(before.exit_code, 0) << before.err;
  EXPECT_THAT(before.out, HasSubstr("corrected: norm outputs bf16: norm_output 2 (compute), was 0"));
  EXPECT_THAT(before.out, HasSubstr("Saved: --framework " + mine.path()));
  const presets::JsonValue after = json_of(recorded.ask(fmt::format("--framework {} --json", mine.path())));
  for (const presets::JsonValue& n : *at(after, "numbers").get_if<presets::JsonArray>()) {
    if (at(n, "group") == presets::JsonValue{"kept"}) {
      EXPECT_EQ(at(n, "equal"), presets::JsonValue{true});
    }
  }
  EXPECT_THAT(
      run_hexaplan(recorded.ask(fmt::format("--framework {} --save {}", mine.path(), mine.path()))).err,
      HasSubstr("--save: a profile cannot inherit itself"));
  EXPECT_EQ(
      run_hexaplan(fmt::format("estimate --model llama-3.2-1b --cluster 1xH100 --framework {}", mine.path()))
          .exit_code,
      0);
}

TEST(oracle_command, writes_no_profile_where_there_is_nothing_to_say) {
  const Recorded recorded;
  const tests::TemporaryFolder own;
  const std::string file = (own.path() / "no_profile.json").string();
  const Finished run = run_hexaplan(recorded.ask("--save " + file));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("No profile was written"));
  EXPECT_FALSE(fs::exists(file));
}

struct Failure {
  std::string commands, more, error;
};
TEST(oracle_command, tells_in_one_line_what_python_did_instead_of_answering) {
  const Failure cases[] = {
      {"echo Traceback >&2; echo 'RuntimeError: no kernel' >&2; exit 1", "",
       ": got RuntimeError: no kernel, expected a step of the model"},
      {"exit 7", "", ": got exit code 7 and not a word"},
      {"kill -9 $$", "", ": got killed by signal 9"},
      {"sleep 60", "--timeout 0.2", "give it more time: --timeout SECONDS"},
      {"printf '{\"schema\": \"hexaplan/oracle-answer/1\", \"ver'", "",
       ": got an answer that cannot be read"},
      {"printf '\"\\377\\376\"'", "", ": got an answer that cannot be read (\"\\xFF"},
      {"exit 0", "", ": got an answer that cannot be read"},
      {"echo '{\"schema\": \"x\"}'", "", ": /schema: got \"x\""},
      {"echo '{\"schema\": \"hexaplan/oracle-answer/1\", \"problem\": {\"what\": \"no package torch\", "
       "\"expected\": \"torch 2.6 or newer\", \"hint\": \"install it (pip)\"}}'",
       "", ": got no package torch, expected torch 2.6 or newer; install it (pip)"},
  };
  for (const Failure& c : cases) {
    const FakePython python{c.commands};
    const Finished run =
        run_hexaplan(fmt::format("oracle --model gpt2 --quiet --python {} {}", python.path(), c.more));
    EXPECT_EQ(run.exit_code, 4) << c.commands;
    EXPECT_TRUE(run.out.empty());
    EXPECT_THAT(run.err, HasSubstr(c.error)) << c.commands;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

TEST(oracle_command, says_which_python_is_not_there) {
  const Finished named = run_hexaplan("oracle --model gpt2 --quiet --python /nowhere/python");
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, HasSubstr("--python: got \"/nowhere/python\" (No such file or directory)"));
}

TEST(oracle_command, reads_its_words_before_it_starts_python) {
  const FakePython python{"echo started >&2; exit 1"};
  for (const char* words :
       {"--framework megatron", "--layout tp2", "--optimizer lion", "--timeout 0", "--price 3"}) {
    const Finished run =
        run_hexaplan(fmt::format("oracle --model gpt2 --python {} {}", python.path(), words));
    EXPECT_EQ(run.exit_code, 2) << words << run.err;
    EXPECT_THAT(run.err, testing::Not(HasSubstr("started"))) << words;
  }
}

/// What the script itself finds of the packages that it needs, in any Python without those of this machine.
TEST(oracle_command, names_the_package_that_is_missing_or_too_old) {
  if (std::system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3 of 3.10 or newer here";
  const tests::TemporaryFolder own;
  const fs::path packages = own.path() / "packages";
  const auto install = [&](const std::string& package, const std::string& version) {
    const fs::path folder = packages / fmt::format("{}-{}.dist-info", package, version);
    fs::create_directories(folder);
    std::ofstream{folder / "METADATA"}
        << fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\n", package, version);
  };
  const FakePython python{fmt::format("PYTHONPATH={} exec python3 -S \"$@\"", packages.string())};
  const auto error = [&](const std::string& more = {}) {
    return run_hexaplan(fmt::format("oracle --model gpt2 --quiet --python {} {}", python.path(), more)).err;
  };
  EXPECT_THAT(error(), HasSubstr("got no package torch, expected torch 2.6 or newer; install it ("));
  EXPECT_THAT(error(), HasSubstr("-m pip install 'torch>=2.6'"));
  install("torch", "1.13.1");
  EXPECT_THAT(error(), HasSubstr("got torch 1.13.1, expected torch 2.6 or newer; update it ("));
  fs::remove_all(packages);
  install("torch", "2.15.0+cpu");
  EXPECT_THAT(error(), HasSubstr("got no package transformers, expected transformers 4.56 or newer"));
  install("transformers", "5.23.0");
  EXPECT_THAT(error("--fine-tune lora"), HasSubstr("got no package peft, expected peft 0.13 or newer"));
  EXPECT_THAT(error(), HasSubstr("No module named"));
}

/// A real Python, where one with the packages is named: scripts/nightly.sh does.
TEST(oracle_command, finds_what_was_recorded_in_pytorch_itself) {
  const char* python = std::getenv("HEXAPLAN_TORCH_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "HEXAPLAN_TORCH_PYTHON names no Python with torch and transformers";
  const Recorded recorded;
  const std::string question = fmt::format("oracle --scenario {} --json", recorded.scenario.path());
  const presets::JsonValue real = json_of(fmt::format("{} --python {}", question, python));
  const presets::JsonValue from_file = json_of(recorded.ask("--json"));
  EXPECT_EQ(at(real, "numbers"), at(from_file, "numbers"));
}

}  // namespace
}  // namespace hexaplan::cli
