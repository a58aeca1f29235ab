// What fits on this card, and how fast: the question of whoever fine-tunes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;

const std::string kQuestion = "finetune --model llama-2-7b --gpu rtx3090 ";

std::map<std::string, const JsonValue*> methods(const JsonValue& answer) {
  std::map<std::string, const JsonValue*> found;
  for (const JsonValue& row : *at(answer, "methods").get_if<JsonArray>())
    found[*at(row, "method").get_if<std::string>()] = &row;
  return found;
}

bool fits(const JsonValue& method) {
  return *at(method, "fits").get_if<bool>();
}

TEST(finetune, says_what_fits_on_one_card_of_24_gb) {
  const JsonValue answer = json_of(kQuestion + "--json");
  const auto of = methods(answer);
  EXPECT_FALSE(fits(*of.at("full")));
  EXPECT_TRUE(fits(*of.at("LoRA")));
  EXPECT_TRUE(fits(*of.at("QLoRA")));
  EXPECT_THAT(*at(*of.at("full"), "reason").get_if<std::string>(), HasSubstr("comes closest needs"));
}

TEST(finetune, lists_the_fastest_first_and_what_does_not_fit_last) {
  const JsonValue answer = json_of(kQuestion + "--json");
  double last = 0;
  bool all_fit = true;
  for (const JsonValue& row : *at(answer, "methods").get_if<JsonArray>()) {
    if (!fits(row)) {
      all_fit = false;
      continue;
    }
    EXPECT_TRUE(all_fit);
    const double step = number_at(at(row, "search.plans").get_if<JsonArray>()->front(), "price.step_seconds");
    EXPECT_GE(step, last);
    last = step;
  }
}

/// The line behind `begin`, without it.
std::string line_after(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  return text.substr(at + begin.size(), text.find('\n', at) - at - begin.size());
}

TEST(finetune, the_fastest_is_written_for_a_trainer_by_the_command_that_it_names) {
  const std::string command =
      line_after(run_hexaplan(kQuestion + "--quiet").out, "To run the first: hexaplan ");
  const Finished written = run_hexaplan(command);
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("adapter: \"qlora\""));
  EXPECT_THAT(written.out, HasSubstr("gradient_checkpointing: "));
  const std::string trl = "export --target trl " + command.substr(command.find("--model"));
  EXPECT_THAT(run_hexaplan(trl).out, HasSubstr("use_peft: true"));
}

TEST(finetune, offloads_what_the_card_has_no_room_for_where_the_host_has_it) {
  const std::string name = "full, optimizer and parameters offloaded";
  const std::string question = "finetune --model llama-2-7b --json --cluster 1xRTX3090+host";
  EXPECT_TRUE(fits(*methods(json_of(question + "512GiB")).at(name)));
  const JsonValue small = json_of(question + "64GiB");
  EXPECT_FALSE(fits(*methods(small).at(name)));
  EXPECT_THAT(*at(*methods(small).at(name), "reason").get_if<std::string>(),
              HasSubstr("in the memory of a node"));
}

TEST(finetune, speaks_to_people) {
  const Finished run = run_hexaplan(kQuestion);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, testing::AllOf(HasSubstr("Fits, fastest first"), HasSubstr("QLoRA, 8-bit AdamW"),
                                      HasSubstr("Does not fit\n  full: ")));
}

TEST(finetune, refuses_two_answers_to_which_gpus) {
  EXPECT_EQ(run_hexaplan(kQuestion + "--cluster 8xH100").exit_code, 2);
  EXPECT_EQ(run_hexaplan("finetune --model llama-2-7b --cluster 1xH100 --gpus 2").exit_code, 2);
}

}  // namespace
}  // namespace hexaplan::cli
