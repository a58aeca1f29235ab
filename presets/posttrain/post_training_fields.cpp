#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "costmodel/units/trimmed.h"
#include "presets/json/vocabulary.h"
#include "presets/posttrain/post_training_request.h"

namespace hexaplan::presets {
namespace {

using costmodel::DType;
using costmodel::EngineSleep;
using costmodel::ModelRole;
using costmodel::PostTrainingAlgorithm;
using PostWords = PostTrainingWords;

constexpr std::int64_t kMostSequencesOfBatch = 100'000'000;
constexpr std::int64_t kMostTokens = 100'000'000;
constexpr std::int64_t kMostSteps = 10'000;
constexpr std::int64_t kMostGpusOfPool = 100'000;

constexpr Named<PostTrainingAlgorithm> kAlgorithms[] = {{"grpo", PostTrainingAlgorithm::Grpo},
                                                        {"ppo", PostTrainingAlgorithm::Ppo},
                                                        {"dpo", PostTrainingAlgorithm::Dpo}};
constexpr Named<DType> kWeightTypes[] = {{"bf16", DType::Bf16}, {"fp16", DType::Fp16}, {"fp8", DType::Fp8}};
constexpr Named<EngineSleep> kSleeps[] = {
    {"0", EngineSleep::Awake}, {"1", EngineSleep::Offloaded}, {"2", EngineSleep::Discarded}};
constexpr std::uint8_t kIdleActor = costmodel::kIdleActorParameters | costmodel::kIdleActorOptimizer;
constexpr std::uint8_t kIdleCritic = costmodel::kIdleCriticParameters | costmodel::kIdleCriticOptimizer;
constexpr Named<std::uint8_t> kIdleNames[] = {
    {"actor-params", costmodel::kIdleActorParameters},
    {"actor-optimizer", costmodel::kIdleActorOptimizer},
    {"reference", costmodel::kIdleReference},
    {"critic-params", costmodel::kIdleCriticParameters},
    {"critic-optimizer", costmodel::kIdleCriticOptimizer},
    {"reward", costmodel::kIdleReward},
    {"actor", kIdleActor},
    {"critic", kIdleCritic},
};

/// A whole number, or text that `parse` understands.
std::int64_t whole(const ValueReader& value, std::int64_t most, std::string_view example,
                   std::optional<std::int64_t> (*parse)(std::string_view)) {
  if (value.json().get_if<std::string>() == nullptr) return value.integer({1, most});
  const auto number = parse(value.text());
  if (!number || *number < 1 || *number > most)
    throw value.error(fmt::format("a whole number from 1 to {}, such as {}", most, example));
  return *number;
}

template <std::optional<std::int64_t> PostWords::*member>
void read_length(const ValueReader& value, PostWords& words) {
  words.*member = whole(value, kMostTokens, "1024 or 8k", costmodel::parse_length);
}
template <std::optional<std::int64_t> PostWords::*member, std::int64_t most>
void read_count(const ValueReader& value, PostWords& words) {
  words.*member = whole(value, most, "8", costmodel::parse_count);
}
template <auto member>
JsonValue write_words_number(const PostWords& words) {
  return words.*member ? JsonValue{*(words.*member)} : JsonValue{};
}

template <std::optional<bool> PostWords::*member>
void read_answer(const ValueReader& value, PostWords& words) {
  static constexpr Named<bool> answers[] = {{"true", true}, {"false", false}};
  words.*member = value.json().get_if<std::string>() == nullptr ? value.boolean() : value.choice(answers);
}

template <auto member, auto& table>
void read_word(const ValueReader& value, PostWords& words) {
  words.*member = value.choice(table);
}
template <auto member, auto& table>
JsonValue write_word(const PostWords& words) {
  return words.*member ? JsonValue{name_in(table, *(words.*member))} : JsonValue{};
}

/// Numbers without quotes are fine in a file.
void read_sleep(const ValueReader& value, PostWords& words) {
  if (value.json().get_if<std::string>() != nullptr) {
    words.engine_sleep = value.choice(kSleeps);
  } else {
    words.engine_sleep = static_cast<EngineSleep>(value.integer({0, 2}));
  }
}
JsonValue write_sleep(const PostWords& words) {
  return words.engine_sleep ? JsonValue{static_cast<int>(*words.engine_sleep)} : JsonValue{};
}

void read_share(const ValueReader& value, PostWords& words) {
  constexpr double kLeast = 0.01, kMost = 1;
  double share = 0;
  if (const auto* text = value.json().get_if<std::string>()) {
    share = costmodel::parse_number<double>(*text).value_or(0);
  } else {
    share = value.number();
  }
  if (!(share >= kLeast && share <= kMost))
    throw value.error("a share of the GPU's memory from 0.01 to 1, such as 0.6");
  words.engine_memory = share;
}

/// "actor-params,reference", "all", "none".
void read_idle(const ValueReader& value, PostWords& words) {
  std::uint8_t bits = 0;
  std::string_view rest = value.text();
  while (rest != "none" && !rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = costmodel::trimmed(rest.substr(0, comma));
    const auto* row = std::find_if(std::begin(kIdleNames), std::end(kIdleNames),
                                   [&](const auto& name) { return name.name == word; });
    if (word == "all") {
      bits = 0xff;
    } else if (row == std::end(kIdleNames)) {
      throw value.error(
          "all, none, or words with commas of actor, actor-params, actor-optimizer, reference, critic, "
          "critic-params, critic-optimizer, reward");
    } else {
      bits = static_cast<std::uint8_t>(bits | row->value);
    }
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  words.offload_idle = bits;
}
JsonValue write_idle(const PostWords& words) {
  if (!words.offload_idle) return {};
  if (*words.offload_idle == 0xff) return "all";
  std::string text;
  for (const auto& [name, bits] : kIdleNames) {
    const bool single = (bits & (bits - 1)) == 0;
    if (single && (*words.offload_idle & bits) != 0)
      text += fmt::format("{}{}", text.empty() ? "" : ",", name);
  }
  return text.empty() ? "none" : text;
}

void read_pools(const ValueReader& value, PostWords& words) {
  static_cast<void>(parse_pools(value.text()));
  words.pools = value.text();
}

constexpr PostTrainingField kPostTrainingFields[] = {
    {"algorithm", "--algorithm", "NAME", "grpo ppo dpo",
     "grpo (no critic), ppo (critic, reward model), dpo (pairs, nothing is generated). Default: grpo",
     read_word<&PostWords::algorithm, kAlgorithms>, write_word<&PostWords::algorithm, kAlgorithms>},
    {"prompts", "--prompts", "N", "", "Prompts per step (dpo: pairs of answers). Default: 128",
     read_count<&PostWords::prompts, kMostSequencesOfBatch>, write_words_number<&PostWords::prompts>},
    {"responses", "--responses", "N", "", "Responses per prompt. Default: 8, ppo: 1",
     read_count<&PostWords::responses, kMostSteps>, write_words_number<&PostWords::responses>},
    {"prompt_tokens", "--prompt-tokens", "TOKENS", "", "Mean length of a prompt. Default: 512",
     read_length<&PostWords::prompt_tokens>, write_words_number<&PostWords::prompt_tokens>},
    {"longest_prompt", "--longest-prompt", "TOKENS", "", "Longest prompt. Default: the mean",
     read_length<&PostWords::longest_prompt>, write_words_number<&PostWords::longest_prompt>},
    {"response_tokens", "--response-tokens", "TOKENS", "", "Mean length of a response. Default: 1024",
     read_length<&PostWords::response_tokens>, write_words_number<&PostWords::response_tokens>},
    {"longest_response", "--longest-response", "TOKENS", "",
     "Longest response, which generation waits for. Default: the mean",
     read_length<&PostWords::longest_response>, write_words_number<&PostWords::longest_response>},
    {"mini_batches", "--mini-batches", "N", "", "Optimizer steps per pass over the responses. Default: 1",
     read_count<&PostWords::mini_batches, kMostSteps>, write_words_number<&PostWords::mini_batches>},
    {"epochs", "--epochs", "N", "", "Passes over the responses. Default: 1",
     read_count<&PostWords::epochs, kMostSteps>, write_words_number<&PostWords::epochs>},
    {"packed", "--packed", "BOOL", "true false",
     "Sequences of a pass fill its tokens (false: each is padded to the longest). Default: true",
     read_answer<&PostWords::packed>, write_words_number<&PostWords::packed>},
    {"score_micro_batch", "--score-micro-batch", "N", "",
     "Longest sequences per pass without backward. Default: --micro-batch",
     read_count<&PostWords::score_micro_batch, kMostSequencesOfBatch>,
     write_words_number<&PostWords::score_micro_batch>},
    {"old_log_probs", "--old-log-probs", "BOOL", "true false",
     "The trainer computes log-probabilities before it changes weights. Default: true",
     read_answer<&PostWords::old_log_probs>, write_words_number<&PostWords::old_log_probs>},
    {"engine_tp", "--engine-tp", "N", "", "Tensor-parallel GPUs of one rollout engine. Default: 1",
     read_count<&PostWords::engine_tp, kMostSteps>, write_words_number<&PostWords::engine_tp>},
    {"engine_weights", "--engine-weights", "TYPE", "bf16 fp16 fp8", "Type of its weights. Default: bf16",
     read_word<&PostWords::engine_weights, kWeightTypes>,
     write_word<&PostWords::engine_weights, kWeightTypes>},
    {"engine_cache", "--engine-cache", "TYPE", "bf16 fp16 fp8", "Type of keys and values. Default: bf16",
     read_word<&PostWords::engine_cache, kWeightTypes>, write_word<&PostWords::engine_cache, kWeightTypes>},
    {"engine_memory", "--engine-memory", "SHARE", "",
     "Of a GPU's memory for weights, activations and cache (vLLM's gpu_memory_utilization). Default: what is "
     "left, at most 0.9",
     read_share, write_words_number<&PostWords::engine_memory>},
    {"engine_sequences", "--engine-sequences", "N", "",
     "Responses that one engine decodes together (max_num_seqs). Default: 256",
     read_count<&PostWords::engine_sequences, kMostGpusOfPool>,
     write_words_number<&PostWords::engine_sequences>},
    {"engine_batched_tokens", "--engine-batched-tokens", "TOKENS", "",
     "Tokens of one prefill (max_num_batched_tokens). Default: 8192",
     read_length<&PostWords::engine_batched_tokens>, write_words_number<&PostWords::engine_batched_tokens>},
    {"prefix_caching", "--prefix-caching", "BOOL", "true false",
     "Responses share their prompt's cache. Default: true", read_answer<&PostWords::prefix_caching>,
     write_words_number<&PostWords::prefix_caching>},
    {"engine_sleep", "--engine-sleep", "LEVEL", "0 1 2",
     "While others work the engine keeps everything (0), its weights on the host (1), nothing (2). Default: "
     "2",
     read_sleep, write_sleep},
    {"offload_idle", "--offload-idle", "WHAT", "all none actor reference critic reward",
     "In host memory while other phases run: actor-params, actor-optimizer, reference, critic-params, "
     "critic-optimizer, reward, with commas; all. Default: none",
     read_idle, write_idle},
    {"pools", "--pools", "POOLS", "",
     "GPUs of their own: \"actor+reference=8 engine=8\". Default: all share all GPUs", read_pools,
     [](const PostWords& words) { return words.pools.empty() ? JsonValue{} : JsonValue{words.pools}; }},
    {"asynchronous", "--asynchronous", "BOOL", "true false",
     "The next batch is generated while this one is trained; needs a pool for the engine. Default: false",
     read_answer<&PostWords::asynchronous>, write_words_number<&PostWords::asynchronous>},
};

constexpr ModelFlag kModelFlags[] = {
    {"--critic-model", ModelRole::Critic, "model", "Model of the critic. Default: the actor's"},
    {"--critic-layout", ModelRole::Critic, "layout", "Its layout. Default: the actor's"},
    {"--reward-model", ModelRole::Reward, "model",
     "Reward model, or rule: none. Default: ppo: the actor's architecture, grpo: rule"},
    {"--reward-layout", ModelRole::Reward, "layout", "Its layout. Default: the actor's"},
    {"--reference", ModelRole::Reference, "", "none: no KL term, and no reference model"},
    {"--reference-layout", ModelRole::Reference, "layout", "Layout of the reference. Default: the actor's"},
};

}  // namespace

std::span<const PostTrainingField> post_training_fields() {
  return kPostTrainingFields;
}

void set_post_training_field(PostTrainingWords& words, const PostTrainingField& field,
                             std::string_view text) {
  static const std::string no_file;
  const JsonValue value{text};
  field.read(ValueReader{no_file, std::string{field.flag}, value, Reading::Strict}, words);
}

std::span<const ModelFlag> model_flags() {
  return kModelFlags;
}

std::string_view name_of(PostTrainingAlgorithm algorithm) {
  return name_in(kAlgorithms, algorithm);
}

void set_model_flag(PostTrainingWords& words, const ModelFlag& flag, std::string_view text) {
  JsonValue& model = words.models[static_cast<std::size_t>(flag.role)];
  const bool absent = flag.role == ModelRole::Reference ? text == "none" : text == "rule";
  if (absent && flag.key != "layout") {
    model = text;
    return;
  }
  if (flag.key.empty()) {
    throw InputError({.field = std::string{flag.flag},
                      .value = in_quotes(text),
                      .expected = "none",
                      .hint = "--reference-layout says how it is cut"});
  }
  if (model.get_if<JsonObject>() == nullptr) model = JsonObject{};
  JsonObject& keys = *model.get_if<JsonObject>();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.first == flag.key; });
  if (found != keys.end()) {
    found->second = text;
  } else {
    keys.emplace_back(flag.key, text);
  }
}

}  // namespace hexaplan::presets
