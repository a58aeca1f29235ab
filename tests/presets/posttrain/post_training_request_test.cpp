// The file of a post-training: read, written, inherited.
#include "presets/posttrain/post_training_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/presets/json/error_text.h"

namespace hexaplan::presets {
namespace {

using costmodel::ModelRole;
using testing::HasSubstr;
using testing::Not;

const char* const kFile = R"({
  "schema": "hexaplan/posttrain/1",
  "model": "llama-3.2-1b", "cluster": "8xH100", "framework": "fsdp2", "layout": "fsdp",
  "recipe": {"micro_batch": 2, "recompute": "full"},
  "posttrain": {
    "algorithm": "ppo", "prompts": 256, "response_tokens": "2k", "longest_response": "4k", "engine_tp": 2,
    "engine_memory": 0.5, "engine_sleep": 1, "offload_idle": "actor-optimizer,reference",
    "critic": {"layout": "tp2", "framework": "megatron", "recipe": {"micro_batch": 4}},
    "reward": {"model": "llama-3.2-3b"}
  }
})";

PostTrainingRequest read(const std::string& text) {
  return read_post_training(parse_json(text, "plan.json"));
}

TEST(post_training_request, reads_back_what_it_writes) {
  const PostTrainingRequest request = read(kFile);
  EXPECT_EQ(read(to_text(to_json(request))), request);
  EXPECT_EQ(request.words.response_tokens, 2048);
  EXPECT_EQ(request.words.engine_sleep, costmodel::EngineSleep::Offloaded);
}

TEST(post_training_request, other_models_inherit_what_they_do_not_say) {
  const auto question = resolve_post_training(read(kFile)).question;
  const auto& critic = question.model(ModelRole::Critic);
  ASSERT_TRUE(critic);
  EXPECT_EQ(critic->model.name, "llama-3.2-1b");
  EXPECT_EQ(critic->framework.name, "megatron");
  EXPECT_EQ(critic->layout.tp, 2);
  EXPECT_EQ(critic->recipe.micro_batch, 4);
  EXPECT_EQ(critic->recipe.recompute.mode, costmodel::RecomputeMode::Full);
  EXPECT_EQ(critic->model.outputs, 1);
  const auto& reference = question.model(ModelRole::Reference);
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->layout.sharding.stage, 3);
  EXPECT_EQ(question.model(ModelRole::Reward)->model.name, "llama-3.2-3b");
}

TEST(post_training_request, says_which_models_an_algorithm_has) {
  const auto models = [](const std::string& words) {
    std::string names;
    const auto question =
        resolve_post_training(read(R"({"schema": "hexaplan/posttrain/1", "model": "llama-3.2-1b",
          "cluster": "8xH100", "posttrain": {)" +
                                   words + "}}"))
            .question;
    for (const auto& role : costmodel::kRoles) {
      if (question.model(role.id)) names += std::string{role.name} + " ";
    }
    return names;
  };
  EXPECT_EQ(models(""), "actor reference ");
  EXPECT_EQ(models(R"("reference": "none")"), "actor ");
  EXPECT_EQ(models(R"("reward": {"layout": "fsdp"})"), "actor reference reward ");
  EXPECT_EQ(models(R"("algorithm": "ppo")"), "actor reference critic reward ");
  EXPECT_EQ(models(R"("algorithm": "ppo", "reward": "rule")"), "actor reference critic ");
  EXPECT_EQ(models(R"("algorithm": "dpo")"), "actor reference ");
}

TEST(post_training_request, refuses_what_it_does_not_know) {
  EXPECT_THAT(error_text([] {
                static_cast<void>(read(R"({"schema": "hexaplan/posttrain/1", "posttrain": {"prompt": 3}})"));
              }),
              HasSubstr("prompts"));
  EXPECT_THAT(error_text([] {
                static_cast<void>(
                    read(R"({"schema": "hexaplan/posttrain/1", "posttrain": {"offload_idle": "critc"}})"));
              }),
              HasSubstr("critic-params"));
  EXPECT_THAT(error_text([] { static_cast<void>(read(R"({"schema": "hexaplan/scenario/1"})")); }),
              HasSubstr("hexaplan/posttrain/1"));
}

TEST(post_training_request, adapters_that_are_off_are_the_reference) {
  const auto resolved = [](const std::string& more) {
    return resolve_post_training(read(R"({"schema": "hexaplan/posttrain/1", "model": "llama-3.2-1b",
      "cluster": "8xH100", "recipe": {"fine_tune": "lora"}, "posttrain": {"prompts": 64)" +
                                      more + "}}"));
  };
  EXPECT_TRUE(resolved("").question.reference_in_actor);
  const ResolvedPostTraining own = resolved(R"(, "reference": {"layout": "tp2"})");
  EXPECT_FALSE(own.question.reference_in_actor);
  EXPECT_FALSE(trains_adapters(own.question.model(ModelRole::Reference)->recipe));
  for (const std::string& note : own.notes) EXPECT_THAT(note, Not(HasSubstr("reference: LoRA rank")));
}

}  // namespace
}  // namespace hexaplan::presets
