// `hexaplan compare`: scenarios side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kQuestion =
    "compare --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 64 --quiet ";

TEST(compare_command, says_the_same_of_a_layout_as_estimate_does) {
  const auto compared = json_of(std::string{kQuestion} + "--json tp2 'tp4 sp'");
  const auto alone = json_of(
      "estimate --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 64 --layout 'tp4 sp' --json");
  const auto& sides = *at(compared, "sides").get_if<presets::JsonArray>();
  ASSERT_EQ(sides.size(), 2U);
  EXPECT_EQ(at(sides[1], "estimate"), alone);
}

TEST(compare_command, holds_every_side_against_the_first) {
  const Finished run = run_hexaplan(std::string{kQuestion} + "tp2 tp2 tp4");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // Twice the same has no difference in brackets; the third has one.
  EXPECT_THAT(run.out,
              ContainsRegex("step time +[0-9.]+ m?s +[0-9.]+ m?s +[0-9.]+ m?s \\([+-][0-9.]+ %\\)\n"));
  EXPECT_THAT(run.out, HasSubstr("tensor-parallel comm"));
}

TEST(compare_command, takes_layouts_that_cannot_run_as_an_answer) {
  const Finished run = run_hexaplan(std::string{kQuestion} + "tp8 ep3");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("cannot run"));
}

TEST(compare_command, reads_scenario_files) {
  const TemporaryFile first{R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100",
      "layout": "tp2", "recipe": {"sequence": 4096, "global_batch": 64}})",
                            ".json"};
  const Finished run = run_hexaplan("compare --quiet " + first.path() + " " + first.path() + " --csv");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("step time,s,"));
}

TEST(compare_command, needs_two_sides) {
  const Finished run = run_hexaplan(std::string{kQuestion} + "tp2");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("expected two or more scenario files or layouts"));
}

}  // namespace
}  // namespace hexaplan::cli
