#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/trimmed.h"
#include "presets/posttrain/post_training_request.h"

namespace hexaplan::presets {
namespace {

using costmodel::ModelRole;
using costmodel::PostTrainingAlgorithm;
using PostWords = PostTrainingWords;

bool generates(const PostWords& words) {
  return words.algorithm != PostTrainingAlgorithm::Dpo;
}
bool engine_is_apart(const PostWords& words) {
  const auto pools = parse_pools(words.pools);
  return std::any_of(pools.begin(), pools.end(), [](const PoolWords& pool) {
    return pool.engine && std::none_of(pool.holds.begin(), pool.holds.end(), [](bool held) { return held; });
  });
}
bool scores(const PostWords& words) {
  return takes_part(words, ModelRole::Reference) || takes_part(words, ModelRole::Reward) ||
         takes_part(words, ModelRole::Critic) || (generates(words) && words.old_log_probs.value_or(true));
}

/// A word that is given although nothing asks for it.
struct IdleWord {
  std::string_view flag;
  bool (*given)(const PostWords&);
  bool (*used)(const PostWords&);
  std::string_view why;
};

template <auto member>
bool given(const PostWords& words) {
  return (words.*member).has_value();
}
template <ModelRole role>
bool describes(const PostWords& words) {
  return !words.models[static_cast<std::size_t>(role)].is_null();
}
template <ModelRole role>
bool in_use(const PostWords& words) {
  return takes_part(words, role);
}
template <std::uint8_t bits>
bool offloads_idle(const PostWords& words) {
  return words.offload_idle && *words.offload_idle != 0xff && (*words.offload_idle & bits) != 0;
}

constexpr std::string_view kNothingGenerated = "dpo trains on answers that exist, nothing is generated";
constexpr std::string_view kNoCritic = "only ppo has a critic";

constexpr IdleWord kIdleWords[] = {
    {"--responses", given<&PostWords::responses>, generates, "dpo trains on pairs"},
    {"--engine-tp", given<&PostWords::engine_tp>, generates, kNothingGenerated},
    {"--engine-weights", given<&PostWords::engine_weights>, generates, kNothingGenerated},
    {"--engine-cache", given<&PostWords::engine_cache>, generates, kNothingGenerated},
    {"--engine-memory", given<&PostWords::engine_memory>, generates, kNothingGenerated},
    {"--engine-sequences", given<&PostWords::engine_sequences>, generates, kNothingGenerated},
    {"--engine-batched-tokens", given<&PostWords::engine_batched_tokens>, generates, kNothingGenerated},
    {"--prefix-caching", given<&PostWords::prefix_caching>, generates, kNothingGenerated},
    {"--engine-sleep", given<&PostWords::engine_sleep>, generates, kNothingGenerated},
    {"--engine-sleep", given<&PostWords::engine_sleep>,
     [](const PostWords& w) { return !engine_is_apart(w); },
     "an engine with GPUs of its own has no reason to sleep"},
    {"--old-log-probs", given<&PostWords::old_log_probs>, generates, kNothingGenerated},
    {"--asynchronous", [](const PostWords& w) { return w.asynchronous.value_or(false); }, engine_is_apart,
     "the engine shares its GPUs with models; give it a pool: --pools \"actor+reference=8 engine=8\""},
    {"--score-micro-batch", given<&PostWords::score_micro_batch>, scores, "nothing is scored"},
    {"--critic-model or --critic-layout", describes<ModelRole::Critic>, in_use<ModelRole::Critic>, kNoCritic},
    {"--reward-model or --reward-layout", describes<ModelRole::Reward>,
     [](const PostWords& w) { return generates(w); }, "dpo has no reward model"},
    {"--offload-idle reference", offloads_idle<costmodel::kIdleReference>, in_use<ModelRole::Reference>,
     "there is no reference model"},
    {"--offload-idle critic",
     offloads_idle<costmodel::kIdleCriticParameters | costmodel::kIdleCriticOptimizer>,
     in_use<ModelRole::Critic>, kNoCritic},
    {"--offload-idle reward", offloads_idle<costmodel::kIdleReward>, in_use<ModelRole::Reward>,
     "there is no reward model"},
};

void take_member(std::string_view member, PoolWords& pool) {
  if (member == "engine") {
    pool.engine = true;
    return;
  }
  for (const costmodel::RoleRow& role : costmodel::kRoles) {
    if (role.name != member) continue;
    pool.holds[static_cast<std::size_t>(role.id)] = true;
    return;
  }
  throw InputError({.field = "--pools",
                    .value = in_quotes(member),
                    .expected = "actor, reference, critic, reward or engine"});
}

PoolWords parse_pool(std::string_view word) {
  const std::size_t equals = word.find('=');
  const auto gpus = equals == std::string_view::npos
                        ? std::nullopt
                        : costmodel::parse_number<std::int64_t>(word.substr(equals + 1));
  if (!gpus || *gpus < 1 || *gpus > 1'000'000) {
    throw InputError({.field = "--pools",
                      .value = in_quotes(word),
                      .expected = "who shares how many GPUs, such as actor+reference=8"});
  }
  PoolWords pool{.gpus = *gpus};
  std::string_view members = word.substr(0, equals);
  while (true) {
    const std::size_t plus = members.find('+');
    take_member(members.substr(0, plus), pool);
    if (plus == std::string_view::npos) return pool;
    members.remove_prefix(plus + 1);
  }
}

}  // namespace

bool takes_part(const PostTrainingWords& words, ModelRole role) {
  const JsonValue& said = words.models[static_cast<std::size_t>(role)];
  const bool absent = said.get_if<std::string>() != nullptr;
  const auto algorithm = words.algorithm.value_or(PostTrainingAlgorithm::Grpo);
  switch (role) {
    case ModelRole::Actor:
      return true;
    case ModelRole::Reference:
      return !absent;
    case ModelRole::Critic:
      return algorithm == PostTrainingAlgorithm::Ppo;
    case ModelRole::Reward:
      return algorithm == PostTrainingAlgorithm::Ppo
                 ? !absent
                 : algorithm == PostTrainingAlgorithm::Grpo && said.get_if<JsonObject>() != nullptr;
  }
  return false;
}

void refuse_idle_words(const PostTrainingWords& words) {
  for (const IdleWord& word : kIdleWords) {
    if (!word.given(words) || word.used(words)) continue;
    throw InputError({.field = std::string{word.flag},
                      .value = "a value",
                      .expected = "none",
                      .hint = "it would change nothing: " + std::string{word.why}});
  }
}

std::vector<PoolWords> parse_pools(std::string_view text) {
  std::vector<PoolWords> pools;
  std::string_view rest = costmodel::trimmed(text);
  while (!rest.empty()) {
    const std::size_t blank = rest.find(' ');
    pools.push_back(parse_pool(rest.substr(0, blank)));
    rest = blank == std::string_view::npos ? std::string_view{} : costmodel::trimmed(rest.substr(blank));
  }
  return pools;
}

}  // namespace hexaplan::presets
