// Whatever is asked beyond what is modelled, every answer says so: in text, in JSON, in what is written for a
// framework.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;

const std::string kQuestion =
    "--model llama-3.1-8b --cluster 16xH100 --seq 4k --global-batch 64 --framework deepspeed ";
const std::string kUnmodelled = kQuestion + "--layout zero3 --fine-tune lora --lora-alpha 32 ";

std::vector<std::string> knobs(const JsonValue& list) {
  std::vector<std::string> words;
  for (const JsonValue& row : *list.get_if<JsonArray>()) {
    words.push_back(*at(row, "knob").get_if<std::string>());
    EXPECT_NE(*at(row, "effect").get_if<std::string>(), "");
  }
  return words;
}

const JsonValue& first(const JsonValue& list) {
  return list.get_if<JsonArray>()->front();
}

TEST(not_modelled, is_said_in_the_text_of_every_answer) {
  const std::string side = "zero3 zero2 --fine-tune lora --lora-alpha 32 ";
  const std::string commands[] = {"estimate " + kUnmodelled, "simulate " + kUnmodelled,
                                  "compare " + side + kQuestion, "estimate --explain " + kUnmodelled};
  for (const std::string& command : commands) {
    EXPECT_THAT(run_hexaplan(command).out,
                testing::AllOf(testing::HasSubstr("Not modelled"),
                               testing::HasSubstr("lora-alpha: a multiplier has no bytes")))
        << command;
  }
  EXPECT_THAT(run_hexaplan("search --fine-tune lora --lora-alpha 32 " + kQuestion).out,
              testing::HasSubstr("lora-alpha: a multiplier has no bytes"));
}

TEST(not_modelled, is_listed_in_json) {
  const auto named = testing::ElementsAre("lora-alpha");
  EXPECT_THAT(knobs(at(json_of("estimate --json " + kUnmodelled), "not_modelled")), named);
  EXPECT_THAT(knobs(at(json_of("simulate --json " + kUnmodelled), "not_modelled")), named);
  EXPECT_THAT(knobs(at(json_of("export --json " + kUnmodelled), "not_modelled")), named);
  const JsonValue compared =
      json_of("compare --json zero3 zero2 --fine-tune lora --lora-alpha 32 " + kQuestion);
  EXPECT_THAT(knobs(at(at(first(at(compared, "sides")), "estimate"), "not_modelled")), named);
  const JsonValue searched = json_of("search --json --fine-tune lora --lora-alpha 32 " + kQuestion);
  EXPECT_THAT(knobs(at(first(at(searched, "plans")), "not_modelled")), named);
  EXPECT_THAT(knobs(at(json_of("estimate --json " + kQuestion), "not_modelled")), testing::IsEmpty());
}

/// What the file sets and the plan's numbers leave out: the job that starts is not the one that was priced.
TEST(not_modelled, is_a_comment_in_what_is_exported) {
  const Finished run = run_hexaplan(
      "export --target axolotl --model llama-2-7b --cluster 8xA100 --framework fsdp2 --layout fsdp --seq 4k "
      "--global-batch "
      "64 "
      "--fine-tune qlora --lora-alpha 32");
  EXPECT_THAT(run.out, testing::AllOf(testing::HasSubstr("load_in_4bit: true"),
                                      testing::HasSubstr("#   lora-alpha: a multiplier has no bytes")));
  EXPECT_THAT(run.err, testing::HasSubstr("not modelled: lora-alpha"));
}

/// What experts do with a capacity is in the numbers and in the file.
TEST(not_modelled, names_no_capacity_of_experts) {
  const Finished run = run_hexaplan(
      "export --model mixtral-8x7b --cluster 16xH100 --layout 'ep8 zero1' --seq 4k --global-batch 64 "
      "--capacity-factor 1.5 --pad-to-capacity true");
  EXPECT_THAT(run.out, testing::AllOf(testing::HasSubstr("--moe-expert-capacity-factor 1.5"),
                                      testing::HasSubstr("--moe-pad-expert-input-to-capacity"),
                                      testing::Not(testing::HasSubstr("#   capacity-factor"))));
  EXPECT_THAT(run.err, testing::Not(testing::HasSubstr("not modelled")));
}

TEST(fine_tuning, a_rank_that_is_not_given_is_said_and_trains_adapters) {
  const std::string question = "estimate --model llama-2-7b --cluster 8xH100 --seq 4k --fine-tune lora ";
  EXPECT_THAT(run_hexaplan(question).err, testing::HasSubstr("LoRA rank not given: 32 (default)"));
  const JsonValue e = json_of(question + "--json");
  EXPECT_GT(number_at(first(at(e, "memory.stages")), "optimizer"), 0);
  EXPECT_EQ(number_at(e, "scenario.recipe.lora_rank"), 32);
  EXPECT_EQ(run_hexaplan(question + "--lora-rank 0").exit_code, 2);
}

/// The question that newcomers ask most is answered with the plan that fits.
TEST(fine_tuning, lora_of_7b_on_one_card_of_24_gb_is_answered_with_the_plan_that_fits) {
  const std::string question =
      "--model llama-2-7b --cluster 1xRTX3090 --fine-tune lora --seq 2048 --framework hf-eager ";
  const Finished asked = run_hexaplan("estimate " + question);
  EXPECT_THAT(asked.out, testing::AllOf(testing::HasSubstr("Does not fit"),
                                        testing::HasSubstr("would fit with --recompute full")));
  EXPECT_TRUE(*at(json_of("estimate --json --recompute full " + question), "fits").get_if<bool>());
  const JsonValue searched = json_of("search --json " + question);
  const JsonValue& best = first(at(searched, "plans"));
  EXPECT_LT(number_at(best, "price.peak_bytes"), number_at(best, "price.capacity_bytes"));
  EXPECT_LE(number_at(best, "price.out_of_memory_probability"), 0.05);
}

}  // namespace
}  // namespace hexaplan::cli
