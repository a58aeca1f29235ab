// No silent word: each moves a number of the plan where it must matter, or is refused with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "costmodel/posttrain/plan_post_training.h"
#include "presets/posttrain/post_training_request.h"
#include "tests/presets/json/error_text.h"

namespace hexaplan::presets {
namespace {

using costmodel::PostTrainingPlan;
using testing::HasSubstr;

PostTrainingRequest usual() {
  PostTrainingRequest request;
  request.actor.model = "llama-3.2-1b";
  request.actor.cluster = "2x8xH100+ib400";
  request.actor.layout = parse_layout("fsdp", "layout");
  request.actor.framework = "fsdp2";
  request.words.prompts = 512, request.words.responses = 16;
  request.words.prompt_tokens = 512, request.words.response_tokens = 1024;
  request.words.longest_response = 4096;
  request.words.mini_batches = 2;
  return request;
}

const PostTrainingField& field_of(std::string_view key) {
  const auto fields = post_training_fields();
  return *std::ranges::find_if(fields, [&](const auto& field) { return field.key == key; });
}
PostTrainingRequest with(PostTrainingRequest request, std::string_view key, std::string_view value) {
  set_post_training_field(request.words, field_of(key), value);
  return request;
}
PostTrainingRequest apart() {
  return with(usual(), "pools", "actor+reference=8 engine=8");
}
PostTrainingRequest ppo() {
  return with(usual(), "algorithm", "ppo");
}
/// So little memory that not all responses decode together.
PostTrainingRequest crowded() {
  return with(usual(), "engine_memory", "0.12");
}

std::vector<double> numbers_of(const PostTrainingRequest& request) {
  const ResolvedPostTraining resolved = resolve_post_training(request);
  const PostTrainingPlan plan = plan_post_training(resolved.question, resolved.calibration);
  std::vector<double> numbers{plan.step.value(), plan.host.value(), plan.tokens, plan.generated};
  for (const auto& memory : plan.memory) numbers.push_back(memory.total().value());
  for (const auto& time : plan.times) numbers.push_back(time.total().value());
  return numbers;
}

struct Turn {
  const char* key;
  PostTrainingRequest (*base)();
  std::vector<const char*> values;
};
const Turn kTurns[] = {
    {"algorithm", usual, {"ppo", "dpo"}},
    {"prompts", usual, {"1024"}},
    {"responses", usual, {"8"}},
    {"prompt_tokens", usual, {"256"}},
    {"longest_prompt", usual, {"1k"}},
    {"response_tokens", usual, {"2k"}},
    {"longest_response", usual, {"8k"}},
    {"mini_batches", usual, {"4"}},
    {"epochs", usual, {"2"}},
    {"packed", usual, {"false"}},
    {"score_micro_batch", usual, {"4"}},
    {"old_log_probs", usual, {"false"}},
    {"engine_tp", usual, {"2"}},
    {"engine_weights", usual, {"fp8"}},
    {"engine_cache", usual, {"fp8"}},
    {"engine_memory", usual, {"0.3"}},
    {"engine_sequences", usual, {"64"}},
    {"engine_batched_tokens", usual, {"2k"}},
    {"prefix_caching", usual, {"false"}},
    {"engine_sleep", usual, {"0", "1"}},
    {"offload_idle", usual, {"actor", "actor-params", "actor-optimizer", "reference", "all"}},
    {"offload_idle", ppo, {"critic", "critic-params", "critic-optimizer", "reward"}},
    {"pools", usual, {"actor+reference=8 engine=8", "actor+engine=8 reference=8"}},
    {"asynchronous", apart, {"true"}},
};

TEST(post_training_words, every_word_moves_a_number) {
  for (const Turn& turn : kTurns) {
    const std::vector<double> before = numbers_of(turn.base());
    for (const char* value : turn.values) {
      PostTrainingRequest request = turn.base();
      if (std::string_view{value} == "dpo") request.words.responses.reset();
      EXPECT_NE(before, numbers_of(with(request, turn.key, value))) << turn.key << " " << value;
    }
  }
}

TEST(post_training_words, every_word_is_turned) {
  for (const PostTrainingField& field : post_training_fields()) {
    EXPECT_TRUE(std::ranges::any_of(kTurns, [&](const Turn& turn) { return turn.key == field.key; }))
        << field.key;
  }
}

TEST(post_training_words, what_is_said_of_another_model_moves_a_number) {
  const std::vector<double> before = numbers_of(ppo());
  for (const ModelFlag& flag : model_flags()) {
    PostTrainingRequest request = ppo();
    const char* value = flag.key == "model" ? "llama-3.2-3b" : flag.key == "layout" ? "tp2" : "none";
    set_model_flag(request.words, flag, value);
    EXPECT_NE(before, numbers_of(request)) << flag.flag;
  }
}

TEST(post_training_words, fewer_responses_decode_together_where_the_cache_is_small) {
  const auto resolved = resolve_post_training(crowded());
  const auto plan = plan_post_training(resolved.question, resolved.calibration);
  ASSERT_TRUE(plan.generation);
  EXPECT_LT(plan.generation->together, 256);
}

std::string refusal(const PostTrainingRequest& request) {
  return error_text([&] { static_cast<void>(resolve_post_training(request)); });
}

TEST(post_training_words, what_an_algorithm_has_no_use_for_is_refused) {
  PostTrainingRequest dpo = usual();
  dpo.words.responses.reset();
  dpo = with(dpo, "algorithm", "dpo");
  EXPECT_EQ(refusal(dpo), "no error");
  EXPECT_THAT(refusal(with(dpo, "responses", "4")), HasSubstr("dpo trains on pairs"));
  EXPECT_THAT(refusal(with(dpo, "engine_tp", "2")), HasSubstr("nothing is generated"));
  EXPECT_THAT(refusal(with(usual(), "offload_idle", "critic")), HasSubstr("only ppo has a critic"));
  EXPECT_THAT(refusal(with(usual(), "offload_idle", "reward")), HasSubstr("no reward model"));
  EXPECT_THAT(refusal(with(usual(), "asynchronous", "true")), HasSubstr("--pools"));
  EXPECT_THAT(refusal(with(apart(), "engine_sleep", "1")), HasSubstr("no reason to sleep"));
}

TEST(post_training_words, pools_hold_every_model_once_and_all_gpus) {
  EXPECT_THAT(refusal(with(usual(), "pools", "actor=8 engine=8")),
              HasSubstr("reference in one pool, not in none"));
  EXPECT_THAT(refusal(with(usual(), "pools", "actor+reference+engine=8")), HasSubstr("16 GPUs in all"));
  EXPECT_THAT(refusal(with(usual(), "pools", "actor+reference+critic=8 engine=8")), HasSubstr("no critic"));
  EXPECT_THAT(error_text([] { static_cast<void>(parse_pools("actor8")); }), HasSubstr("actor+reference=8"));
}

TEST(post_training_words, lengths_and_batches_of_the_models_follow_from_the_rollouts) {
  PostTrainingRequest request = usual();
  request.actor.recipe.sequence = 4096;
  EXPECT_THAT(refusal(request), HasSubstr("it follows from prompts"));
  EXPECT_THAT(refusal(with(usual(), "longest_response", "100")), HasSubstr("at least the mean"));
}

}  // namespace
}  // namespace hexaplan::presets
