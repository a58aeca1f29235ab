#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/posttrain/post_training.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

/// What is said of a post-training beside its actor's scenario; unset: not given.
struct PostTrainingWords {
  std::optional<costmodel::PostTrainingAlgorithm> algorithm;
  std::optional<std::int64_t> prompts, responses;
  std::optional<std::int64_t> prompt_tokens, longest_prompt, response_tokens, longest_response;
  std::optional<std::int64_t> mini_batches, epochs, score_micro_batch;
  std::optional<bool> packed, old_log_probs, asynchronous;
  std::optional<std::int64_t> engine_tp, engine_sequences, engine_batched_tokens;
  std::optional<costmodel::DType> engine_weights, engine_cache;
  std::optional<double> engine_memory;
  std::optional<bool> prefix_caching;
  std::optional<costmodel::EngineSleep> engine_sleep;
  std::optional<std::uint8_t> offload_idle;  // costmodel::IdleOffload bits
  std::string pools;                         // "actor+reference=8 engine=8"
  /// By costmodel::ModelRole, not of the actor: an object of scenario keys that differ from the actor's, the
  /// word "none" (reference) or "rule" (reward), or null.
  std::array<JsonValue, costmodel::kModelRoles> models;
  friend bool operator==(const PostTrainingWords&, const PostTrainingWords&) = default;
};

/// A post-training as a user writes it.
struct PostTrainingRequest {
  ScenarioRequest actor;  // its cluster is that of all GPUs; sequence and batch are not given
  PostTrainingWords words;
  friend bool operator==(const PostTrainingRequest&, const PostTrainingRequest&) = default;
};

/// One key of "posttrain" in a file, and its flag.
struct PostTrainingField {
  std::string_view key;
  std::string_view flag;
  std::string_view value;    // placeholder; empty: true or false
  std::string_view choices;  // words that completion offers, blank between them
  std::string_view help;
  void (*read)(const ValueReader& value, PostTrainingWords& words);
  /// Null when it is not given.
  JsonValue (*write)(const PostTrainingWords& words);
};
[[nodiscard]] std::span<const PostTrainingField> post_training_fields();
/// Reads `text` into the field; errors name its flag.
void set_post_training_field(PostTrainingWords& words, const PostTrainingField& field, std::string_view text);

/// A flag that says one key of another model's scenario: --critic-layout.
struct ModelFlag {
  std::string_view flag;
  costmodel::ModelRole role;
  std::string_view key;  // of a scenario: "model", "layout"
  std::string_view help;
};
[[nodiscard]] std::span<const ModelFlag> model_flags();
void set_model_flag(PostTrainingWords& words, const ModelFlag& flag, std::string_view text);

/// "grpo".
[[nodiscard]] std::string_view name_of(costmodel::PostTrainingAlgorithm algorithm);

inline constexpr std::string_view kPostTrainingSchema = "hexaplan/posttrain/1";

/// Reads a scenario file that has the schema above and one key more, "posttrain": an object of the fields and
/// of "critic", "reward" and "reference", each an object of scenario keys that differ from the actor's.
[[nodiscard]] PostTrainingRequest read_post_training(const JsonDocument& document);
/// JSON that read_post_training reads back to an equal request.
[[nodiscard]] JsonValue to_json(const PostTrainingRequest& request);

struct ResolvedPostTraining {
  costmodel::PostTraining question;
  costmodel::Calibration calibration;
  std::vector<std::string> notes;  // which defaults were used
};
/// Looks everything up. InputError for what is missing, and for every word that this algorithm or placement
/// has no use for.
[[nodiscard]] ResolvedPostTraining resolve_post_training(const PostTrainingRequest& request);

/// InputError for the first word that would change nothing, with the reason.
void refuse_idle_words(const PostTrainingWords& words);

/// True when the algorithm and the words leave this model in.
[[nodiscard]] bool takes_part(const PostTrainingWords& words, costmodel::ModelRole role);

/// One pool as written.
struct PoolWords {
  std::array<bool, costmodel::kModelRoles> holds{};
  bool engine = false;
  std::int64_t gpus = 0;
};
/// "actor+reference=8 engine=8"; empty text: no pools. InputError.
[[nodiscard]] std::vector<PoolWords> parse_pools(std::string_view text);

}  // namespace hexaplan::presets
