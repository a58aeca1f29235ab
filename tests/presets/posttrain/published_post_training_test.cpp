// Figures that others published: bytes per token of the key-value cache, and times of whole GRPO steps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "costmodel/posttrain/kv_cache.h"
#include "costmodel/posttrain/plan_post_training.h"
#include "presets/posttrain/post_training_request.h"

namespace hexaplan::presets {
namespace {

struct PublishedCache {
  const char* model;
  double bytes;  // per token, 16 bits
  const char* source;
};
// arXiv:2505.09343 is cited from memory.
const PublishedCache kCaches[] = {
    {"opt-13b", 800 * 1024.0, "arXiv:2309.06180 section 3: 800 KB"},
    {"deepseek-v3", 70'272, "arXiv:2505.09343 table 1: 70.272 KB"},
    {"qwen2.5-72b", 327'680, "arXiv:2505.09343 table 1: 327.680 KB"},
    {"llama-3.1-405b", 516'096, "arXiv:2505.09343 table 1: 516.096 KB"},
    {"gpt2-xl", 300 * 1024.0, "news.future-shock.ai, The Weight of Remembering: 300 KiB"},
    {"llama-3-8b", 128 * 1024.0, "the same: 128 KiB"},
};

TEST(published_post_training, bytes_per_token_of_the_cache) {
  for (const PublishedCache& row : kCaches) {
    const costmodel::ModelSpec model = look_up_model(row.model);
    EXPECT_EQ(costmodel::cache_of_sequence(model, costmodel::DType::Bf16, 1, 1).value(), row.bytes)
        << row.model << ": " << row.source;
  }
}

/// NVIDIA-NeMo/RL docs/about/performance-summary.md, on policy, bf16: versions v0.5 (108bffdab) and v0.6
/// (69c7ca117); batches, memory share and micro-batches from examples/configs/recipes/llm/performance.
/// Lengths of prompts follow from the tokens per second.
struct PublishedStep {
  const char* model;
  const char* cluster;
  const char* layout;
  int engine_tp, mini_batches;
  std::int64_t prompts, prompt, response, longest;
  bool recompute;
  double seconds;
};
const PublishedStep kSteps[] = {
    {"llama-3.1-8b", "16xH100", "pp2 zero1", 1, 4, 64, 127, 1019, 4096, true, 92.8},
    {"qwen3-32b", "32xH100", "tp4 pp4 sp zero1", 4, 4, 64, 103, 3251, 4096, false, 376},
    {"qwen3-30b-a3b", "32xH100", "ep8 zero1", 2, 4, 64, 102, 3203, 4096, false, 192},
    {"llama-3.1-8b", "8xGB200", "zero1", 1, 4, 64, 110, 1066, 4096, true, 91.0},
    {"qwen3-32b", "16xGB200", "tp2 sp zero1", 1, 4, 64, 110, 3253, 4096, false, 381},
    {"qwen3-30b-a3b", "16xGB200", "ep16 zero1", 1, 4, 64, 110, 3199, 4096, false, 221},
};

double predicted(const PublishedStep& row) {
  PostTrainingRequest request;
  request.actor.model = row.model;
  request.actor.cluster = row.cluster;
  request.actor.framework = "megatron";
  request.actor.layout = parse_layout(row.layout, "layout");
  if (row.recompute) request.actor.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  PostTrainingWords& words = request.words;
  words.prompts = row.prompts, words.responses = 32;
  words.prompt_tokens = row.prompt;
  words.response_tokens = row.response, words.longest_response = row.longest - row.prompt;
  words.mini_batches = row.mini_batches;
  words.score_micro_batch = 2;
  words.engine_tp = row.engine_tp, words.engine_memory = 0.6;
  words.offload_idle = 0xff;
  const ResolvedPostTraining resolved = resolve_post_training(request);
  return plan_post_training(resolved.question, resolved.calibration).step.value();
}

// The table says averages over 5 steps of whole steps, with what lies outside of every model: rewards, data,
// Ray, the engine's scheduler. What is predicted is the models alone, without any constant for the rest.
TEST(published_post_training, grpo_steps_take_at_least_what_their_models_do) {
  for (const PublishedStep& row : kSteps) {
    const double ratio = predicted(row) / row.seconds;
    // What every answer says, and docs/posttrain.md.
    EXPECT_GT(ratio, 1 / 1.9) << row.model << " on " << row.cluster;
    EXPECT_LT(ratio, 1 / 1.2) << row.model << " on " << row.cluster;
  }
}

TEST(published_post_training, more_of_the_same_takes_longer) {
  // Qwen3-32B against Llama-3.1-8B on one node each: 376·32 and 92.8·16 GPU-seconds.
  const double ratio = predicted(kSteps[1]) * 32 / (predicted(kSteps[0]) * 16);
  EXPECT_NEAR(ratio, 376 * 32 / (92.8 * 16), 0.25 * 376 * 32 / (92.8 * 16));
}

}  // namespace
}  // namespace hexaplan::presets
