#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;

TEST(verify_command, finds_no_difference_in_random_layouts) {
  const Finished run = run_hexaplan("verify --random 3 --seed 5");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("3 layouts on up to"));
  EXPECT_THAT(run.out, HasSubstr("3 recorded steps on up to"));
  EXPECT_THAT(run.out, HasSubstr("No difference."));
}

TEST(verify_command, stops_at_the_first_difference_of_random_layouts_alone) {
  EXPECT_EQ(run_hexaplan("verify --random 3 --first").exit_code, 0);
  for (const char* words : {"verify --first --random 3 --coverage",
                            "verify --first --model llama-3.2-1b --cluster 2xH100 --layout tp2"}) {
    const Finished run = run_hexaplan(words);
    EXPECT_EQ(run.exit_code, 2) << words;
    EXPECT_THAT(run.err, HasSubstr("--first needs --random N")) << words;
  }
}

TEST(verify_command, names_random_layouts_in_words_that_it_reads) {
  const JsonValue drawn = json_of("verify --random 6 --seed 9 --json");
  for (const JsonValue& layout : *at(drawn, "layouts").get_if<JsonArray>()) {
    const std::string words = *at(layout, "scenario").get_if<std::string>();
    const JsonValue again = json_of("verify --whole --seed 9 --json " + words);
    EXPECT_TRUE(at(again, "shrunk").get_if<JsonArray>()->empty());
    EXPECT_EQ(at(again, "layouts").get_if<JsonArray>()->front(), layout) << words;
  }
}

TEST(verify_command, draws_every_schedule_and_technique_that_can_be_executed) {
  const JsonValue drawn = json_of("verify --random 300 --coverage --json");
  std::map<std::string, double> layouts;
  for (const JsonValue& row : *at(drawn, "coverage").get_if<JsonArray>()) {
    layouts[*at(row, "axis").get_if<std::string>() + " " + *at(row, "choice").get_if<std::string>()] =
        number_at(row, "layouts");
  }
  for (const char* choice : {"schedule gpipe",
                             "schedule 1f1b",
                             "schedule interleaved",
                             "schedule zb-h1",
                             "schedule zb-2p",
                             "schedule zb-v",
                             "schedule vhalf",
                             "schedule dualpipe",
                             "schedule dualpipev",
                             "vpp 2",
                             "vpp 3",
                             "vpp 4",
                             "vpp 8",
                             "dp 3",
                             "tp 8",
                             "cp 4",
                             "context ring",
                             "context allgather",
                             "zero 3",
                             "recompute selective",
                             "recompute full",
                             "recompute layers=",
                             "ep 4",
                             "etp 1",
                             "techniques hybrid shards",
                             "techniques shards of 3 ranks",
                             "techniques uneven stages",
                             "techniques V-shaped schedule",
                             "techniques backward in two parts",
                             "techniques micro-batches that pp does not divide",
                             "techniques fewer micro-batches than stages",
                             "techniques first layers dense",
                             "techniques window",
                             "techniques odd width",
                             "techniques padded vocabulary",
                             "techniques more tp ranks than keys",
                             "techniques tied embeddings on two stages",
                             "techniques second copy of parameters (hpz)",
                             "techniques a share of the optimizer offloaded",
                             "techniques activations of some layers offloaded",
                             "techniques states on disks",
                             "techniques inputs of recomputed layers cut over tp",
                             "techniques gradients reduced in the last micro-batch",
                             "techniques replicas summed in the last micro-batch",
                             "techniques updates in backward",
                             "techniques gate of what attention makes",
                             "attention unfused",
                             "fine-tune qlora",
                             "optimizer shampoo",
                             "outer-steps diloco1 fp32 gpu",
                             "outer-steps diloco2 fp32 gpu",
                             "outer-steps diloco2 bf16 copy-on-host",
                             "outer-steps diloco3 fp32 host"}) {
    EXPECT_GE(layouts[choice], 5) << choice;
  }
}

/// Choices that `count` random layouts make, each as its axis and its name.
std::set<std::string> choices_of_random_layouts(int count) {
  const JsonValue drawn = json_of(fmt::format("verify --random {} --coverage --json", count));
  std::set<std::string> choices;
  for (const JsonValue& row : *at(drawn, "coverage").get_if<JsonArray>()) {
    if (number_at(row, "layouts") >= 1)
      choices.insert(*at(row, "axis").get_if<std::string>() + " " + *at(row, "choice").get_if<std::string>());
  }
  return choices;
}

/// How many micro-batches a layout has follows from stages, chunks and ranks: no choice of its own.
TEST(verify_command, meets_every_choice_that_2000_layouts_make_in_its_first_120) {
  const std::set<std::string> first = choices_of_random_layouts(120);
  for (const std::string& choice : choices_of_random_layouts(2000))
    EXPECT_TRUE(first.contains(choice) || choice.starts_with("micro-batches ")) << choice;
}

TEST(verify_command, shrinks_a_scenario_and_compares_every_number_of_its_layout) {
  const JsonValue v = json_of(
      "verify --model llama-3.1-70b --cluster 16xH100 --layout 'tp4 pp2 dp2 sp zero1' --global-batch 16 "
      "--json");
  EXPECT_EQ(*at(v, "schema").get_if<std::string>(), "hexaplan/verification/1");
  EXPECT_TRUE(*at(v, "equal").get_if<bool>());
  EXPECT_FALSE(at(v, "shrunk").get_if<JsonArray>()->empty());
  const JsonValue& layout = at(v, "layouts").get_if<JsonArray>()->front();
  EXPECT_EQ(number_at(layout, "ranks"), 16);
  EXPECT_GT(number_at(layout, "compared"), 500);
  EXPECT_EQ(number_at(layout, "predicted_bytes"), number_at(layout, "executed_bytes"));
}

TEST(verify_command, says_why_a_layout_is_not_executed) {
  const Finished run = run_hexaplan("verify --model llama-3.1-8b --layout 'pp2 dp4' --precision fp8");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.out, HasSubstr("Not executed"));
  EXPECT_THAT(run.out, HasSubstr("executor-precision"));
}

TEST(verify_command, needs_a_question) {
  EXPECT_EQ(run_hexaplan("verify").exit_code, 2);
  EXPECT_EQ(run_hexaplan("verify --random 2 --model llama-3.1-8b").exit_code, 2);
  EXPECT_EQ(run_hexaplan("verify --random 2 --whole").exit_code, 2);
  EXPECT_EQ(run_hexaplan("verify --model llama-3.1-8b --coverage").exit_code, 2);
}

TEST(verify_command, refuses_words_that_random_layouts_do_not_look_at) {
  for (const char* words : {"--layout tp2", "--cluster 8xH100", "--seq 512", "--schedule zb-h1"}) {
    const Finished run = run_hexaplan(std::string{"verify --random 2 "} + words);
    EXPECT_EQ(run.exit_code, 2) << words;
    EXPECT_THAT(run.err, HasSubstr("has no effect beside --random N")) << words;
  }
}

TEST(verify_command, kernels_that_no_processor_has_are_no_fault_of_a_layout) {
  setenv("HEXAPLAN_INSTRUCTIONS", "avx3", 1);
  const Finished run = run_hexaplan("verify --random 1");
  unsetenv("HEXAPLAN_INSTRUCTIONS");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("HEXAPLAN_INSTRUCTIONS: got \"avx3\", expected"));
  EXPECT_THAT(run.out, testing::IsEmpty());
}

}  // namespace
}  // namespace hexaplan::cli
