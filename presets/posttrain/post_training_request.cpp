#include "presets/posttrain/post_training_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "presets/clusters/cluster_preset.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

using costmodel::ModelRole;
using costmodel::PostTraining;
using costmodel::PostTrainingAlgorithm;

constexpr std::string_view kMember = "posttrain";
constexpr ModelRole kOthers[] = {ModelRole::Reference, ModelRole::Critic, ModelRole::Reward};
/// Kernels of the engine: fused ones, as vLLM's are. The profile of Megatron-Core has the same.
constexpr const char* kEngineFramework = "megatron";

std::string_view name_of(ModelRole role) {
  return costmodel::kRoles[static_cast<std::size_t>(role)].name;
}

JsonDocument as_scenario(const std::string& file, JsonObject members) {
  std::erase_if(members, [](const JsonMember& m) { return m.first == "schema" || m.first == kMember; });
  members.insert(members.begin(), {"schema", kScenarioSchema});
  return {file, std::move(members)};
}

JsonValue read_other(const ValueReader& value, ModelRole role) {
  if (value.json().get_if<JsonObject>() != nullptr) return value.json();
  const std::string_view absent = role == ModelRole::Reference ? "none" : "rule";
  if (role != ModelRole::Critic && value.text() == absent) return value.json();
  throw value.error(role == ModelRole::Critic ? std::string{"an object of scenario keys"}
                                              : fmt::format("\"{}\" or an object of scenario keys", absent));
}

/// The member of this name, made when there is none.
JsonValue& member_of(JsonObject& object, const std::string& key) {
  const auto found =
      std::find_if(object.begin(), object.end(), [&](const auto& m) { return m.first == key; });
  return found != object.end() ? found->second : object.emplace_back(key, JsonValue{}).second;
}

/// The actor's scenario with what this model has of its own; recipes are joined key by key.
ScenarioRequest request_of(const PostTrainingRequest& request, ModelRole role) {
  JsonObject members = *to_json(request.actor).get_if<JsonObject>();
  const auto* own = request.words.models[static_cast<std::size_t>(role)].get_if<JsonObject>();
  for (const auto& [key, value] : own == nullptr ? JsonObject{} : *own) {
    JsonValue& member = member_of(members, key);
    const auto* fields = key == "recipe" ? value.get_if<JsonObject>() : nullptr;
    auto* recipe = member.get_if<JsonObject>();
    if (fields == nullptr || recipe == nullptr) {
      member = value;
      continue;
    }
    for (const auto& [field, text] : *fields) member_of(*recipe, field) = text;
  }
  return read_scenario(as_scenario(std::string{name_of(role)}, std::move(members)));
}

/// As many of the cluster's GPUs; fewer than a node has: a part of one.
JsonValue part_of_cluster(const JsonValue& cluster, std::int64_t gpus) {
  ClusterRequest request = cluster_request(cluster);
  if (request.nodes == 0) {
    request.gpus = gpus;
  } else if (gpus < request.per_node) {
    request.nodes = 1;
    request.per_node = gpus;
  } else if (gpus % request.per_node == 0) {
    request.nodes = gpus / request.per_node;
  } else {
    throw InputError({.field = "--pools",
                      .value = std::to_string(gpus),
                      .expected = fmt::format("a multiple of the {} GPUs of a node", request.per_node)});
  }
  return to_cluster_text(request);
}

/// Who has to be in a pool.
struct Member {
  std::string_view name;
  bool needed;
  bool PoolWords::*engine = nullptr;
  std::size_t role = 0;
  [[nodiscard]] bool in(const PoolWords& pool) const {
    return engine != nullptr ? pool.engine : pool.holds[role];
  }
};

std::vector<Member> members_of(const PostTrainingWords& words, bool generates) {
  std::vector<Member> members;
  members.reserve(costmodel::kModelRoles + 1);
  for (const costmodel::RoleRow& role : costmodel::kRoles)
    members.push_back({role.name, takes_part(words, role.id), nullptr, static_cast<std::size_t>(role.id)});
  members.push_back({"engine", generates, &PoolWords::engine});
  return members;
}

void check_pools(const std::vector<PoolWords>& pools, const PostTrainingWords& words, bool generates,
                 std::int64_t gpus) {
  const auto fail = [&](std::string expected) {
    throw InputError({.field = "--pools", .value = in_quotes(words.pools), .expected = std::move(expected)});
  };
  for (const Member& member : members_of(words, generates)) {
    const auto times =
        std::count_if(pools.begin(), pools.end(), [&](const PoolWords& pool) { return member.in(pool); });
    if (member.needed && times != 1)
      fail(fmt::format("{} in one pool, not in {}", member.name, times == 0 ? "none" : "several"));
    if (!member.needed && times > 0) fail(fmt::format("no {}: there is none in this training", member.name));
  }
  std::int64_t sum = 0;
  for (const PoolWords& pool : pools) sum += pool.gpus;
  if (sum != gpus) fail(fmt::format("{} GPUs in all, as the cluster has, not {}", gpus, sum));
}

std::vector<PoolWords> pools_of(const PostTrainingWords& words, bool generates, std::int64_t gpus) {
  std::vector<PoolWords> pools = parse_pools(words.pools);
  if (!pools.empty()) {
    check_pools(pools, words, generates, gpus);
    return pools;
  }
  PoolWords all{.engine = generates, .gpus = gpus};
  for (const costmodel::RoleRow& role : costmodel::kRoles)
    all.holds[static_cast<std::size_t>(role.id)] = takes_part(words, role.id);
  return {all};
}

/// Defaults, each said once.
class Defaults {
 public:
  explicit Defaults(std::vector<std::string>& notes) : notes_{notes} {}
  std::int64_t operator()(std::optional<std::int64_t> given, std::int64_t usual, std::string_view what) {
    if (!given) notes_.push_back(fmt::format("{} not given: {}", what, usual));
    return given.value_or(usual);
  }

 private:
  std::vector<std::string>& notes_;
};

costmodel::TokenLengths lengths(std::int64_t mean, std::optional<std::int64_t> longest,
                                std::string_view flag) {
  if (longest && *longest < mean) {
    throw InputError({.field = std::string{flag},
                      .value = std::to_string(*longest),
                      .expected = fmt::format("at least the mean, {}", mean)});
  }
  return {static_cast<double>(mean), longest.value_or(mean)};
}

costmodel::RolloutBatch batch_of(const PostTrainingWords& words, PostTrainingAlgorithm algorithm,
                                 std::vector<std::string>& notes) {
  Defaults or_usual{notes};
  costmodel::RolloutBatch batch;
  batch.prompts = or_usual(words.prompts, 128, "prompts per step");
  batch.responses = algorithm == PostTrainingAlgorithm::Dpo ? 2
                    : algorithm == PostTrainingAlgorithm::Ppo
                        ? words.responses.value_or(1)
                        : or_usual(words.responses, 8, "responses per prompt");
  batch.prompt = lengths(or_usual(words.prompt_tokens, 512, "tokens of a prompt"), words.longest_prompt,
                         "--longest-prompt");
  batch.response = lengths(or_usual(words.response_tokens, 1024, "tokens of a response"),
                           words.longest_response, "--longest-response");
  if (!words.longest_response)
    notes.push_back(fmt::format("longest response not given: {}, all are as long", batch.response.longest));
  batch.mini_batches = static_cast<int>(words.mini_batches.value_or(1));
  batch.epochs = static_cast<int>(words.epochs.value_or(1));
  batch.packed = words.packed.value_or(true);
  return batch;
}

costmodel::RolloutEngine engine_of(const PostTrainingWords& words) {
  costmodel::RolloutEngine engine;
  engine.tp = static_cast<int>(words.engine_tp.value_or(engine.tp));
  engine.weights = words.engine_weights.value_or(engine.weights);
  engine.cache = words.engine_cache.value_or(engine.cache);
  engine.memory_share = words.engine_memory;
  engine.max_sequences = words.engine_sequences.value_or(engine.max_sequences);
  engine.batched_tokens = words.engine_batched_tokens.value_or(engine.batched_tokens);
  engine.prefix_caching = words.prefix_caching.value_or(engine.prefix_caching);
  engine.sleep = words.engine_sleep.value_or(engine.sleep);
  engine.framework = look_up_framework(kEngineFramework);
  return engine;
}

void refuse_lengths(const costmodel::Recipe& recipe, std::string_view model) {
  const std::pair<std::string_view, std::int64_t> derived[] = {
      {"sequence", recipe.sequence}, {"global_batch", recipe.global_batch}, {"tokens", recipe.tokens}};
  for (const auto& [key, value] : derived) {
    if (value == 0) continue;
    throw InputError({.field = fmt::format("{}: {}", model, key),
                      .value = std::to_string(value),
                      .expected = "nothing: it follows from prompts, responses and their lengths"});
  }
}

/// What verl, OpenRLHF and NeMo-RL all offer: PyTorch's FSDP over all GPUs.
PostTrainingRequest with_usual_trainer(PostTrainingRequest request, std::vector<std::string>& notes) {
  ScenarioRequest& actor = request.actor;
  if (actor.framework.empty()) {
    actor.framework = "fsdp2";
    notes.emplace_back("framework not given: fsdp2");
  }
  if (actor.layout == LayoutRequest{}) {
    actor.layout = parse_layout("fsdp", "layout");
    notes.emplace_back("layout not given: fsdp");
  }
  return request;
}

void take_adapters_away(costmodel::Recipe& recipe) {
  const costmodel::Recipe usual;
  recipe.fine_tune = usual.fine_tune;
  recipe.lora_rank = usual.lora_rank;
  recipe.lora_targets = usual.lora_targets;
  recipe.trainable_parameters = usual.trainable_parameters;
  recipe.double_quantization = usual.double_quantization;
}

/// True where the reference follows from the actor, which trains adapters, on the same GPUs.
bool is_reference_in_actor(const PostTrainingWords& words, const costmodel::Recipe& actor,
                           const std::vector<PoolWords>& pools) {
  const auto at = [](ModelRole role) { return static_cast<std::size_t>(role); };
  const bool together = std::ranges::any_of(pools, [&](const PoolWords& pool) {
    return pool.holds[at(ModelRole::Actor)] && pool.holds[at(ModelRole::Reference)];
  });
  return together && costmodel::trains_adapters(actor) && words.models[at(ModelRole::Reference)].is_null();
}

/// The model in its pool; sequence and batch as the costmodel will have them, so that no default is noted.
void add_model(const PostTrainingRequest& request, ModelRole role, const JsonValue& cluster,
               ResolvedPostTraining& out) {
  ScenarioRequest asked = role == ModelRole::Actor ? request.actor : request_of(request, role);
  refuse_lengths(asked.recipe, name_of(role));
  asked.cluster = cluster;
  asked.recipe.sequence = out.question.batch.longest();
  asked.recipe.global_batch = out.question.batch.sequences();
  const bool shares = role == ModelRole::Reference && out.question.reference_in_actor;
  // What is not trained has no adapters.
  if (role == ModelRole::Reference && !shares) take_adapters_away(asked.recipe);
  CalibratedScenario found = resolve_calibrated(asked);
  if (shares) found.notes = {"the actor's base with its adapters off, which holds no memory of its own"};
  if (role == ModelRole::Critic || role == ModelRole::Reward)
    found.scenario.model = costmodel::with_value_head(std::move(found.scenario.model));
  if (role == ModelRole::Actor) out.calibration = std::move(found.calibration);
  for (std::string& note : found.notes)
    out.notes.push_back(role == ModelRole::Actor ? note : fmt::format("{}: {}", name_of(role), note));
  out.question.models[static_cast<std::size_t>(role)] = std::move(found.scenario);
}

}  // namespace

PostTrainingRequest read_post_training(const JsonDocument& document) {
  ObjectReader reader{document};
  const ValueReader schema = reader.required("schema");
  if (schema.text() != kPostTrainingSchema) throw schema.error(in_quotes(kPostTrainingSchema));
  PostTrainingRequest request;
  if (auto words = reader.optional(kMember)) {
    ObjectReader keys = words->object();
    for (const PostTrainingField& field : post_training_fields()) {
      if (const auto value = keys.optional(field.key)) field.read(*value, request.words);
    }
    for (const ModelRole role : kOthers) {
      if (const auto value = keys.optional(name_of(role)))
        request.words.models[static_cast<std::size_t>(role)] = read_other(*value, role);
    }
    keys.finish();
  }
  request.actor = read_scenario(as_scenario(document.file, *document.root.get_if<JsonObject>()));
  return request;
}

JsonValue to_json(const PostTrainingRequest& request) {
  JsonObject members = *to_json(request.actor).get_if<JsonObject>();
  members.front().second = kPostTrainingSchema;
  JsonObject words;
  for (const PostTrainingField& field : post_training_fields()) {
    if (JsonValue value = field.write(request.words); !value.is_null())
      words.emplace_back(field.key, std::move(value));
  }
  for (const ModelRole role : kOthers) {
    const JsonValue& model = request.words.models[static_cast<std::size_t>(role)];
    if (!model.is_null()) words.emplace_back(name_of(role), model);
  }
  members.emplace_back(kMember, std::move(words));
  return members;
}

ResolvedPostTraining resolve_post_training(const PostTrainingRequest& asked) {
  refuse_idle_words(asked.words);
  ResolvedPostTraining out;
  const PostTrainingRequest request = with_usual_trainer(asked, out.notes);
  const PostTrainingWords& words = request.words;
  PostTraining& question = out.question;
  question.algorithm = words.algorithm.value_or(PostTrainingAlgorithm::Grpo);
  question.batch = batch_of(words, question.algorithm, out.notes);
  question.engine = engine_of(words);
  question.offload_idle = words.offload_idle.value_or(0);
  question.old_log_probs = words.old_log_probs.value_or(true);
  question.asynchronous = words.asynchronous.value_or(false);
  question.score_micro_batch = words.score_micro_batch.value_or(0);
  question.cluster = look_up_cluster(request.actor.cluster);
  const auto pools = pools_of(words, question.generates(), question.cluster.gpus);
  question.reference_in_actor = is_reference_in_actor(words, request.actor.recipe, pools);
  for (const PoolWords& pool : pools) {
    const JsonValue cluster =
        pools.size() == 1 ? request.actor.cluster : part_of_cluster(request.actor.cluster, pool.gpus);
    costmodel::GpuPool gpus{.cluster = look_up_cluster(cluster), .holds = pool.holds, .engine = pool.engine};
    if (request.actor.price_per_hour) gpus.cluster.gpu.price_per_hour = *request.actor.price_per_hour;
    question.pools.push_back(std::move(gpus));
    for (const costmodel::RoleRow& role : costmodel::kRoles) {
      if (pool.holds[static_cast<std::size_t>(role.id)]) add_model(request, role.id, cluster, out);
    }
  }
  return out;
}

}  // namespace hexaplan::presets
