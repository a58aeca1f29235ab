// GRPO, PPO and DPO as one plan: what people read, what scripts read, what is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;
using testing::Not;

const std::string kQuestion =
    "posttrain --model llama-3.2-1b --cluster 8xH100 --prompts 64 --responses 8 --prompt-tokens 512 "
    "--response-tokens 1k --longest-response 4k ";

TEST(posttrain, says_who_holds_what_in_which_phase) {
  const Finished answer = run_hexaplan(kQuestion);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  for (const char* text : {"64 prompts x 8 responses", "Fits:", "Memory per GPU by phase", "\ngenerate",
                           "log-probs of reference", "train actor", "sync weights",
                           "Generation: 64 responses", "32 KiB each", "not calibrated", "tokens/s", "Cost $"})
    EXPECT_THAT(answer.out, HasSubstr(text));
  EXPECT_THAT(answer.out, Not(HasSubstr("critic")));
  EXPECT_THAT(answer.err, HasSubstr("framework not given: fsdp2"));
}

TEST(posttrain, of_pairs_has_no_engine) {
  const Finished answer = run_hexaplan("posttrain --model llama-3.2-1b --cluster 8xH100 --algorithm dpo");
  EXPECT_THAT(answer.out, HasSubstr("128 pairs"));
  EXPECT_THAT(answer.out, Not(HasSubstr("engine")));
  EXPECT_THAT(answer.out, Not(HasSubstr("not calibrated")));
}

TEST(posttrain, adds_up_for_scripts) {
  const JsonValue answer = json_of(kQuestion + "--algorithm ppo --json");
  EXPECT_EQ(*at(answer, "schema").get_if<std::string>(), "hexaplan/posttrain-plan/1");
  double seconds = 0, peak = 0;
  for (const JsonValue& phase : *at(answer, "phases").get_if<JsonArray>())
    seconds += number_at(phase, "seconds");
  EXPECT_NEAR(seconds, number_at(answer, "step_seconds"), 1e-9);
  for (const JsonValue& row : *at(answer, "memory").get_if<JsonArray>()) {
    double sum = 0;
    for (const char* key :
         {"actor", "reference", "critic", "reward", "engine", "cache", "transfer", "context"})
      sum += number_at(row, key);
    EXPECT_NEAR(sum, number_at(row, "total"), 8);
    peak = std::max(peak, number_at(row, "total"));
  }
  EXPECT_EQ(peak, number_at(answer, "peak_bytes"));
}

TEST(posttrain, keeps_the_question) {
  const TemporaryFile file{"", ".json"};
  const JsonValue first =
      json_of(kQuestion + "--algorithm ppo --critic-layout tp2 --json --save-scenario " + file.path());
  const JsonValue again = json_of("posttrain --json --scenario " + file.path());
  EXPECT_EQ(at(first, "question"), at(again, "question"));
  EXPECT_EQ(number_at(first, "step_seconds"), number_at(again, "step_seconds"));
}

TEST(posttrain, that_does_not_fit_says_which_phase_and_exits_with_3) {
  const std::string question = "posttrain --model llama-3.1-8b --cluster 8xA100-40GB --engine-memory 0.9 ";
  EXPECT_EQ(run_hexaplan(question).exit_code, 0);
  const Finished answer = run_hexaplan(question + "--require-fit");
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_THAT(answer.out, HasSubstr("Does not fit: generate needs"));
}

TEST(posttrain, that_does_not_fit_names_words_with_which_it_does) {
  const std::string question = "posttrain --model llama-3.1-8b --cluster 8xA100-40GB --micro-batch 8 ";
  const JsonValue answer = json_of(question + "--json");
  const auto& changes = *at(answer, "rejected.changes_that_fit").get_if<JsonArray>();
  ASSERT_FALSE(changes.empty());
  const std::string& words = *at(changes.front(), "change").get_if<std::string>();
  EXPECT_THAT(run_hexaplan(question).out, HasSubstr(words));
  const JsonValue changed = json_of(question + words + " --json");
  EXPECT_TRUE(*at(changed, "fits").get_if<bool>());
  EXPECT_EQ(number_at(changed, "step_seconds"), number_at(changes.front(), "step_seconds"));
}

TEST(posttrain, refuses_what_would_change_nothing) {
  const Finished critic = run_hexaplan(kQuestion + "--critic-model llama-3.2-1b");
  EXPECT_EQ(critic.exit_code, 2);
  EXPECT_THAT(critic.err, HasSubstr("only ppo has a critic"));
  const Finished length = run_hexaplan(kQuestion + "--seq 4096");
  EXPECT_EQ(length.exit_code, 2);
}

}  // namespace
}  // namespace hexaplan::cli
