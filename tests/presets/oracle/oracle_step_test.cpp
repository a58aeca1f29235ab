// Questions to PyTorch, its recorded answers, and what stands between an answer and the prediction.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "presets/json/input_error.h"
#include "presets/oracle/ask_framework.h"
#include "presets/oracle/compare_step.h"
#include "presets/oracle/oracle_question.h"
#include "presets/scenario/recipe_fields.h"
#include "recorded_answers.h"

namespace hexaplan::presets {
namespace {

std::string key_of(const ComparedNumber& n) {
  return n.what.empty() ? std::string{name_of(n.group)} : fmt::format("{}: {}", name_of(n.group), n.what);
}

/// Of counts, states and what layers keep: peaks of models this small are those of single operations.
std::vector<std::string> differences_of(const RecordedAnswer& recorded) {
  std::vector<std::string> names;
  for (const ComparedNumber& n : compare_step(recorded.scenario, recorded.step())) {
    if (n.group == ComparedGroup::Peak) {
      EXPECT_NEAR(n.error(), 0, 0.25) << recorded.name << ", " << key_of(n);
    } else if (!n.holds()) {
      names.push_back(key_of(n));
    }
  }
  return names;
}

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(oracle_question, says_the_scenario_in_the_words_of_the_scripts) {
  ASSERT_FALSE(recorded_answers().empty());
  for (const RecordedAnswer& recorded : recorded_answers())
    EXPECT_EQ(to_text(oracle_question(recorded.request, recorded.scenario)), to_text(recorded.question))
        << recorded.name;
}

TEST(oracle_question, needs_neither_a_cluster_nor_a_framework) {
  ScenarioRequest request;
  request.model = "llama-3.2-1b";
  request.layout = parse_layout("dp4 tp2", "--layout");
  request = with_oracle_defaults(request);
  EXPECT_EQ(request.framework, "hf-eager");
  EXPECT_EQ(request.cluster, JsonValue{"8xH100"});
}

TEST(oracle_question, means_layers_that_are_not_compiled_where_a_profile_means_the_others) {
  ScenarioRequest request;
  EXPECT_FALSE(with_oracle_defaults(request).recipe.execution.compiled.has_value());
  request.framework = "fsdp2";
  EXPECT_EQ(with_oracle_defaults(request).recipe.execution.compiled, false);
}

struct Refused {
  std::string framework, layout, key, word, why;
};
TEST(oracle_question, refuses_every_word_that_no_script_runs) {
  const Refused cases[] = {
      {"megatron", "dp1", "", "", "--framework: got megatron, expected hf-eager, fsdp2, ddp"},
      {"deepspeed", "dp8", "", "", "--framework: got deepspeed"},
      {"hf-eager", "dp2", "", "", "--layout: got dp2, expected dp1"},
      {"ddp", "dp2 zero2", "", "", "--layout: got dp2 zero2, expected dp alone"},
      {"fsdp2", "dp2 pp2 zero3", "", "", "--layout: got dp2 pp2 zero3, expected dp, tp and sp"},
      {"fsdp2", "dp8", "", "", "--layout: got dp8, expected dp, tp and sp with fsdp"},
      {"fsdp2", "dp8 zero3", "fine_tune", "lora", "--fine-tune: got \"lora\", expected pretrain"},
      {"fsdp2", "dp8 zero3", "precision", "fp32", "--precision: got \"fp32\", expected bf16"},
      {"hf-eager", "dp1", "precision", "fp8", "--precision: got \"fp8\""},
      {"hf-eager", "dp1", "optimizer", "lion", "--optimizer: got \"lion\", expected adamw"},
      {"hf-eager", "dp1", "recompute", "selective", "--recompute: got \"selective\", expected none, full"},
      {"hf-eager", "dp1", "lora_rank", "8", "--lora-rank: got 8, expected --fine-tune lora"},
      {"hf-eager", "dp1", "dora", "true", "--dora: got true, expected --fine-tune lora"},
      {"hf-eager", "dp1", "compile", "true", "--compile: got true, expected false"},
      {"hf-eager", "dp1", "gradient_dtype", "fp32", "--grad-dtype: got \"fp32\", expected its default"},
      {"hf-eager", "dp1", "dropout", "0.1", "--dropout: got 0.1, expected its default"},
      {"hf-eager", "dp1", "tokens", "1T", "--tokens: got 1000000000000, expected its default"},
  };
  for (const Refused& c : cases) {
    ScenarioRequest request;
    request.model = "llama-3.2-1b";
    request.framework = c.framework;
    request.layout = parse_layout(c.layout, "--layout");
    if (!c.key.empty()) set_recipe_field(request.recipe, c.key, "--" + c.key, c.word);
    const std::string error = error_of([&] {
      request = with_oracle_defaults(request);
      (void)oracle_question(request, resolve(request).scenario);
    });
    EXPECT_TRUE(error.starts_with(c.why)) << error;
  }
}

TEST(oracle_question, refuses_models_whose_layers_the_script_has_not) {
  ScenarioRequest request;
  request.model = "gpt2";
  request.framework = "fsdp2";
  request.layout = parse_layout("dp2 zero3", "--layout");
  const auto ask = [&] {
    (void)oracle_question(with_oracle_defaults(request), resolve(with_oracle_defaults(request)).scenario);
  };
  EXPECT_THAT(error_of(ask), testing::HasSubstr("--model: got gpt2, expected model_type llama"));
  request.model = "layers=2 hidden=64 heads=4 ffn=128 vocab=100";
  EXPECT_THAT(error_of(ask), testing::HasSubstr("expected a preset or a config.json"));
}

TEST(oracle_answer, is_what_is_predicted_but_for_what_is_known) {
  const std::map<std::string, std::vector<std::string>> known = {
      // No layer before the first adapter needs a gradient.
      {"llama with lora", {"kept", "kept: norm inputs fp32"}},
      // DDP sends 16-bit gradients in 16 bits.
      {"ddp", {"bytes: backward all_reduce over 4"}}};
  for (const RecordedAnswer& recorded : recorded_answers()) {
    const auto row = known.find(recorded.name);
    EXPECT_EQ(differences_of(recorded), row == known.end() ? std::vector<std::string>{} : row->second)
        << recorded.name;
  }
}

TEST(oracle_answer, gives_every_tensor_of_a_layer_on_both_sides) {
  const RecordedAnswer& recorded = recorded_answer("llama");
  for (const ComparedNumber& n : compare_step(recorded.scenario, recorded.step())) {
    if (key_of(n) != "kept: mlp bf16") continue;
    EXPECT_EQ(n.layers, 3);
    ASSERT_EQ(n.measurements.size(), 4U);
    EXPECT_EQ(n.measurements.front().name, "mlp (mul)");
    EXPECT_EQ(n.measurements.front().elements, 512 * 1408);
    double sum = 0;
    for (const NamedTensor& t : n.predictions) sum += t.size.value();
    EXPECT_NEAR(sum, n.measured, 1);
    return;
  }
  FAIL() << "nothing of the MLP";
}

TEST(oracle_answer, that_is_no_answer_is_an_error) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"schema": "hexaplan/oracle-answer/2"})", "got \"hexaplan/oracle-answer/2\""},
      {R"({"schema": "hexaplan/oracle-answer/1"})", "versions"},
      {R"({"schema": "hexaplan/oracle-answer/1", "problem": {"what": "no package torch", "expected": "torch 2.6 or newer",
           "hint": "install it"}})",
       "python: got no package torch, expected torch 2.6 or newer; install it"},
  };
  for (const auto& [text, error] : cases) {
    const JsonDocument document = parse_json(text, "python");
    EXPECT_THAT(error_of([&] { (void)read_framework_step(document); }), testing::HasSubstr(error));
  }
}

TEST(oracle_answer, with_a_type_that_nobody_knows_is_an_error) {
  JsonValue answer = recorded_answer("llama").answer;
  for (auto& [key, value] : *answer.get_if<JsonObject>()) {
    if (key == "kept")
      value = JsonArray{JsonObject{{"layer", 0},
                                   {"module", "a"},
                                   {"operation", "mm"},
                                   {"dtype", "bf17"},
                                   {"elements", 1},
                                   {"count", 1}}};
  }
  EXPECT_THAT(error_of([&] { (void)read_framework_step({.file = "python", .root = answer}); }),
              testing::HasSubstr("/kept/0/dtype: got \"bf17\""));
}

TEST(oracle_script, lies_where_the_presets_say) {
  EXPECT_EQ(oracle_script().filename(), "answer.py");
}

}  // namespace
}  // namespace hexaplan::presets
