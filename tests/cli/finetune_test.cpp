// What fits on this card, and how fast: the question of whoever fine-tunes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "presets/frameworks/framework_preset.h"
#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;
using testing::Not;

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

const std::string& reason(const JsonValue& method) {
  return *at(method, "reason").get_if<std::string>();
}

/// Precondition: the method fits.
const JsonValue& plan(const JsonValue& method) {
  return at(method, "search.plans").get_if<JsonArray>()->front();
}

/// The line behind `begin`, without it.
std::string line_after(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  return text.substr(at + begin.size(), text.find('\n', at) - at - begin.size());
}

TEST(finetune, says_what_fits_on_one_card_of_24_gb) {
  const JsonValue answer = json_of(kQuestion + "--json");
  const auto of = methods(answer);
  EXPECT_FALSE(fits(*of.at("full")));
  EXPECT_TRUE(fits(*of.at("LoRA")));
  EXPECT_TRUE(fits(*of.at("QLoRA")));
  EXPECT_THAT(reason(*of.at("full")), HasSubstr("comes closest needs"));
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
    const double step = number_at(plan(row), "price.step_seconds");
    EXPECT_GE(step, last);
    last = step;
  }
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
  EXPECT_THAT(reason(*methods(small).at(name)), HasSubstr("in the memory of a node"));
}

TEST(finetune, tells_the_limit_that_candidates_got_to_last) {
  const JsonValue answer =
      json_of("finetune --model llama-3.1-8b --gpu rtx4090 --cross-entropy unfused --json");
  const auto of = methods(answer);
  EXPECT_THAT(reason(*of.at("LoRA")), HasSubstr("max-risk: they fit, but the safest of them"));
  EXPECT_THAT(
      reason(*of.at("full, optimizer and parameters offloaded")),
      HasSubstr("fits-in-host-memory: of the one that comes closest offloaded tensors need 134.6 GiB"));
}

TEST(finetune, takes_the_loss_in_chunks_where_nothing_else_makes_a_method_fit) {
  const std::string question = "finetune --model llama-3.1-8b --gpu rtx4090 ";
  const JsonValue answer = json_of(question + "--json");
  const JsonValue& lora = *methods(answer).at("LoRA");
  EXPECT_TRUE(fits(lora));
  EXPECT_TRUE(*at(lora, "loss_in_chunks").get_if<bool>());
  EXPECT_NEAR(number_at(plan(lora), "price.peak_bytes") / 1073741824, 17.61, 0.01) << "as estimate has it";
  EXPECT_FALSE(*at(*methods(answer).at("QLoRA"), "loss_in_chunks").get_if<bool>());
  const Finished text = run_hexaplan(question);
  EXPECT_THAT(text.out,
              testing::AllOf(HasSubstr("LoRA, loss in chunks "), HasSubstr("--cross-entropy chunked")));
}

/// Layouts of the plans that fit.
std::vector<std::string> layouts(const JsonValue& answer) {
  std::vector<std::string> found;
  for (const JsonValue& row : *at(answer, "methods").get_if<JsonArray>()) {
    if (fits(row)) found.push_back(*at(plan(row), "layout").get_if<std::string>());
  }
  return found;
}

TEST(finetune, plans_what_trainers_run) {
  for (const std::string question :
       {"--model llama-3.1-70b --gpu a100-80 --gpus 2", "--model llama-3.1-8b --gpu rtx4090 --gpus 2",
        "--model mixtral-8x7b --gpu a100-80 --gpus 2", "--model llama-2-7b --gpu a100-80 --gpus 8"}) {
    EXPECT_THAT(layouts(json_of("finetune --json " + question)),
                testing::Each(testing::MatchesRegex("dp[0-9]+( zero[0-3])?")));
    const std::string command =
        line_after(run_hexaplan("finetune --quiet " + question).out, "To run the first: hexaplan ");
    ASSERT_NE(command, "") << question;
    EXPECT_EQ(run_hexaplan(command).exit_code, 0) << command;
  }
}

/// 8 GB of states less than 8-bit AdamW's let all of a 7B model be trained on 40 GB (jiaweizzhao/GaLore#6).
TEST(finetune, projects_gradients_where_the_framework_can) {
  const std::string question = "finetune --model llama-2-7b --gpu a100-40-sxm --json --projection-rank 64";
  const JsonValue answer = json_of(question);
  const auto of = methods(answer);
  EXPECT_FALSE(fits(*of.at("full, all in bf16, 8-bit AdamW")));
  for (const char* name : {"full, all in bf16, 8-bit GaLore", "full, all in bf16, APOLLO"}) {
    ASSERT_TRUE(fits(*of.at(name))) << name;
    EXPECT_EQ(at(*of.at(name), "framework"), JsonValue{"hf-eager"}) << name;
  }
  EXPECT_TRUE(fits(*of.at("LoRA"))) << "which has no subspace";
  const JsonValue sharded = json_of(question + " --gpus 8 --framework hf-fsdp2");
  EXPECT_EQ(methods(sharded).count("full, all in bf16, APOLLO"), 0U);
}

TEST(finetune, a_cluster_and_its_gpus_are_one_question) {
  const JsonValue by_cluster = json_of("finetune --model llama-3.1-8b --cluster 8xH100 --json");
  const JsonValue by_gpus = json_of("finetune --model llama-3.1-8b --gpu h100 --gpus 8 --json");
  const auto a = methods(by_cluster), b = methods(by_gpus);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, row] : a) {
    ASSERT_EQ(fits(*row), fits(*b.at(name))) << name;
    if (fits(*row)) {
      EXPECT_EQ(at(plan(*row), "price"), at(plan(*b.at(name)), "price")) << name;
    }
  }
  EXPECT_TRUE(fits(*a.at("full"))) << "sharded by FSDP";
}

TEST(finetune, trains_a_model_of_70b_in_4_bits_on_two_cards_of_24_gb) {
  const JsonValue answer =
      json_of("finetune --model llama-2-70b --gpu rtx3090 --gpus 2 --seq 1024 --global-batch 2 --json");
  const auto of = methods(answer);
  EXPECT_FALSE(fits(*of.at("QLoRA")));
  const JsonValue& offloaded = *of.at("QLoRA, optimizer and parameters offloaded");
  ASSERT_TRUE(fits(offloaded)) << "AnswerDotAI/fsdp_qlora";
  EXPECT_EQ(at(plan(offloaded), "layout"), JsonValue{"dp2 zero3"});
  EXPECT_GT(number_at(offloaded, "host_bytes_per_node"), 35e9) << "69 B weights of half a byte and more";
}

TEST(finetune, all_methods_run_the_same_layers) {
  const JsonValue whole = presets::to_json(presets::find_framework("hf-eager"));
  const JsonValue answer = json_of("finetune --model llama-3.2-1b --gpu h100 --gpus 2 --json");
  for (const JsonValue& row : *at(answer, "methods").get_if<JsonArray>()) {
    const JsonValue profile =
        presets::to_json(presets::find_framework(*at(row, "framework").get_if<std::string>()));
    for (const char* field :
         {"elementwise", "elementwise_when", "saved", "saved_when", "kernel_launch", "gemm_kernels_forward",
          "attention_library", "head_streams", "reserved_ratio"}) {
      EXPECT_EQ(at(profile, field), at(whole, field)) << field;
    }
  }
}

TEST(finetune, double_quantisation_is_a_method_unless_the_question_says_it) {
  const std::string question = "finetune --model llama-2-7b --gpu rtx3090 --json ";
  const JsonValue unsaid = json_of(question), said = json_of(question + "--double-quantization true");
  const auto peak = [](const JsonValue& answer, const std::string& method) {
    return number_at(plan(*methods(answer).at(method)), "price.peak_bytes");
  };
  EXPECT_LT(peak(unsaid, "QLoRA, double quantisation"), peak(unsaid, "QLoRA"));
  EXPECT_EQ(peak(said, "QLoRA"), peak(unsaid, "QLoRA, double quantisation"));
  EXPECT_FALSE(methods(said).contains("QLoRA, double quantisation"));
}

TEST(finetune, says_of_a_word_that_it_changes_nothing_only_where_no_method_reads_it) {
  const Finished run = run_hexaplan(
      "finetune --model llama-3.1-8b --gpu h100 --lora-rank 64 --double-quantization true "
      "--capacity-factor 2");
  EXPECT_THAT(run.err, testing::AllOf(Not(HasSubstr("lora-rank changes nothing")),
                                      Not(HasSubstr("double-quantization changes nothing")),
                                      HasSubstr("capacity-factor changes nothing")));
  const std::string unsaid = "finetune --model llama-3.1-8b --gpu h100 ";
  const JsonValue answer = json_of(unsaid + "--json");
  EXPECT_THAT(*at(at(answer, "methods").get_if<JsonArray>()->front(), "method").get_if<std::string>(),
              testing::StartsWith("full"));
  EXPECT_THAT(run_hexaplan(unsaid).err, HasSubstr("LoRA rank not given: 8 (default)"));
}

TEST(finetune, fills_in_what_trainers_use_and_says_so) {
  const Finished run = run_hexaplan("finetune --model llama-3.2-1b --gpu a100-80 --gpus 3");
  EXPECT_THAT(run.err, testing::AllOf(HasSubstr("sequence length not given: 2048 tokens"),
                                      HasSubstr("global batch not given: 18 sequences")));
  EXPECT_EQ(run.exit_code, 0) << "16 do not divide over three GPUs";
  const std::string help = run_hexaplan("finetune --help").out;
  EXPECT_THAT(help,
              testing::AllOf(HasSubstr("Default: 2048"), HasSubstr("Default: 16"), HasSubstr("(hf-eager)"),
                             Not(HasSubstr("Default: megatron")), Not(HasSubstr("4 micro-batches"))));
}

TEST(finetune, computes_in_fp16_where_the_gpu_has_no_bf16) {
  const std::string question = "finetune --model llama-2-7b --gpu t4";
  const Finished run = run_hexaplan(question);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("precision not given: fp16, t4 has no units for bf16"));
  EXPECT_THAT(run.out, testing::AllOf(HasSubstr("fp16\n"), HasSubstr("--precision fp16")));
  const Finished said = run_hexaplan(question + " --precision bf16");
  EXPECT_EQ(said.exit_code, 3);
  EXPECT_THAT(said.out, HasSubstr("t4 has no units for bf16, only for fp32 and fp16; use fp16 or fp32"));
}

TEST(finetune, says_what_offloading_takes_of_the_host) {
  const Finished run = run_hexaplan("finetune --model llama-65b --gpu rtx-a6000");
  EXPECT_THAT(run.out,
              testing::AllOf(HasSubstr("host GiB"), HasSubstr("is not known: say it, as in --cluster 1x")));
  const JsonValue answer = json_of("finetune --model llama-65b --gpu rtx-a6000 --json");
  const JsonValue& full = *methods(answer).at("full, optimizer and parameters offloaded");
  EXPECT_NEAR(number_at(full, "host_bytes_per_node") / 65.3e9, 18, 1)
      << "fp32 weights and moments, 16-bit weights, gradients and their fp32 copy";
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
