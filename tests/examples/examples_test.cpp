// The programs of examples/ say what the command says about the same question.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "presets/json/json_value.h"
#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

struct Said {
  int exit_code = -1;
  std::string out;
};
/// What an example prints, errors included.
Said run_example(const std::string& name, const std::string& words) {
  const TemporaryFile out{""};
  const std::string command = fmt::format("env -u HEXAPLAN_PRESETS '{}/{}' {} >'{}' 2>&1", HEXAPLAN_EXAMPLES,
                                          name, words, out.path());
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out.path())};
}

const presets::JsonArray& list_at(const presets::JsonValue& value, const std::string& path) {
  static const presets::JsonArray kNone;
  const auto* list = at(value, path).get_if<presets::JsonArray>();
  if (list != nullptr) return *list;
  ADD_FAILURE() << path << " is no list";
  return kNone;
}

TEST(examples, estimate_layout_says_what_estimate_says) {
  const Said said = run_example("estimate_layout", "llama-3.1-8b 16xH100 'tp2 pp2 zero1 sp' 8192 64");
  ASSERT_EQ(said.exit_code, 0) << said.out;
  const presets::JsonValue command = json_of(
      "estimate --model llama-3.1-8b --cluster 16xH100 --layout 'tp2 pp2 zero1 sp' --seq 8192 --global-batch "
      "64 "
      "--json");
  const presets::JsonArray& stages = list_at(command, "memory.stages");
  ASSERT_EQ(stages.size(), 2U);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string line =
        fmt::format("stage {}: {:.0f} bytes of device memory\n", i, number_at(stages[i], "peak"));
    EXPECT_NE(said.out.find(line), std::string::npos) << line << said.out;
  }
  for (const std::string cause : {"gemm", "bubble", "tensor_parallel"}) {
    const std::string seconds = fmt::format("{:.6f} s\n", number_at(command, "time.by_cause." + cause));
    EXPECT_NE(said.out.find(seconds), std::string::npos) << cause << " " << seconds << said.out;
  }
  EXPECT_NE(said.out.find(fmt::format("step: {:.6f} s", number_at(command, "time.step_seconds"))),
            std::string::npos)
      << said.out;
}

TEST(examples, search_layouts_lists_what_search_lists) {
  const Said said = run_example("search_layouts", "llama-3.1-8b 8xH100 4096 16");
  ASSERT_EQ(said.exit_code, 0) << said.out;
  const presets::JsonValue command =
      json_of("search --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 16 --top 5 --json");
  const presets::JsonArray& plans = list_at(command, "plans");
  ASSERT_EQ(plans.size(), 5U);
  std::size_t from = 0;  // in the ranking's order
  for (const presets::JsonValue& plan : plans) {
    const auto* layout = at(plan, "layout").get_if<std::string>();
    ASSERT_NE(layout, nullptr);
    const std::size_t row = said.out.find(" " + *layout + " ", from);
    ASSERT_NE(row, std::string::npos) << *layout << "\n" << said.out;
    const std::string price = fmt::format("{:.6f} s  {:.0f} bytes", number_at(plan, "price.step_seconds"),
                                          number_at(plan, "price.peak_bytes"));
    from = said.out.find(price, row);
    ASSERT_NE(from, std::string::npos) << *layout << " " << price << "\n" << said.out;
  }
}

TEST(examples, step_program_allocates_what_estimate_says) {
  const Said said = run_example("step_program", "llama-3.2-1b 4xH100 'tp2 pp2 sp' 1024 8");
  ASSERT_EQ(said.exit_code, 0) << said.out;
  EXPECT_NE(said.out.find("B attention.qkv matmul_wgrad"), std::string::npos) << said.out;
  const presets::JsonValue command = json_of(
      "estimate --model llama-3.2-1b --cluster 4xH100 --layout 'tp2 pp2 sp' --seq 1024 --global-batch 8 "
      "--framework "
      "hexaplan --json");
  const presets::JsonArray& stages = list_at(command, "memory.stages");
  ASSERT_EQ(stages.size(), 2U);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string line =
        fmt::format("stage {}: {:.0f} bytes allocated at the peak", i, number_at(stages[i], "allocated"));
    EXPECT_NE(said.out.find(line), std::string::npos) << line << "\n" << said.out;
  }
}

TEST(examples, a_wrong_word_is_named_and_the_program_fails) {
  const Said said = run_example("estimate_layout", "llama-3.1-8 16xH100 tp2 8192 64");
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_NE(said.out.find("did you mean \"llama-3.1-8b\"?"), std::string::npos) << said.out;
  const Said layout = run_example("estimate_layout", "llama-3.1-8b 16xH100 'tp2 zreo1' 8192 64");
  EXPECT_EQ(layout.exit_code, 2);
  EXPECT_NE(layout.out.find("zero1"), std::string::npos) << layout.out;
  EXPECT_EQ(run_example("step_program", "llama-3.2-1b").exit_code, 2);
}

}  // namespace
}  // namespace hexaplan::cli
