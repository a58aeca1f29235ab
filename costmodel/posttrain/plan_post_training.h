#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "costmodel/posttrain/model_phases.h"
#include "costmodel/posttrain/rollout.h"

namespace hexaplan::costmodel {

/// What a step does, in this order; those of one part may run side by side on different GPUs.
enum class Phase : std::uint8_t {
  Generate,
  ScoreActor,
  ScoreReference,
  ScoreReward,
  ScoreValues,
  TrainCritic,
  TrainActor,
  SyncWeights,
};
inline constexpr int kPhases = 8;

enum class StepPart : std::uint8_t { Rollout, Scoring, Training, Sync };
inline constexpr int kStepParts = 4;

struct PhaseRow {
  Phase id;
  std::string_view key;   // in JSON
  std::string_view name;  // for people
  StepPart part;
  std::optional<ModelRole> model;  // that works; none: the engine
};
/// By Phase.
inline constexpr std::array<PhaseRow, kPhases> kPhaseRows{{
    {Phase::Generate, "generate", "generate", StepPart::Rollout, std::nullopt},
    {Phase::ScoreActor, "score_actor", "log-probs of actor", StepPart::Scoring, ModelRole::Actor},
    {Phase::ScoreReference, "score_reference", "log-probs of reference", StepPart::Scoring,
     ModelRole::Reference},
    {Phase::ScoreReward, "score_reward", "rewards", StepPart::Scoring, ModelRole::Reward},
    {Phase::ScoreValues, "score_values", "values", StepPart::Scoring, ModelRole::Critic},
    {Phase::TrainCritic, "train_critic", "train critic", StepPart::Training, ModelRole::Critic},
    {Phase::TrainActor, "train_actor", "train actor", StepPart::Training, ModelRole::Actor},
    {Phase::SyncWeights, "sync_weights", "sync weights", StepPart::Sync, ModelRole::Actor},
}};
[[nodiscard]] constexpr const PhaseRow& row_of(Phase phase) {
  return kPhaseRows[static_cast<std::size_t>(phase)];
}

/// One GPU of a pool during one phase: what each holds.
struct PhaseMemory {
  Phase phase = Phase::Generate;
  std::size_t pool = 0;
  std::array<Bytes, kModelRoles> models{};  // by ModelRole
  Bytes engine;                             // weights, activations, graphs
  Bytes cache;
  Bytes buffer;   // weights on their way from trainer to engine
  Bytes outside;  // context and communicators
  [[nodiscard]] Bytes total() const;
};

struct PhaseTime {
  Phase phase = Phase::Generate;
  std::size_t pool = 0;
  Seconds work;
  Seconds moving;  // between GPU and host, before and after
  [[nodiscard]] constexpr Seconds total() const { return work + moving; }
};

/// Post-training as one plan: an estimate. Training steps are calibrated against published runs, generation,
/// scoring and weight synchronisation are not (docs/posttrain.md says how they compare).
struct PostTrainingPlan {
  std::optional<Rejected> rejected;  // a rule, or memory that does not suffice
  std::array<std::optional<ModelPhases>, kModelRoles> models;
  std::vector<PhaseMemory> memory;  // every pool in every phase, pool by pool
  std::size_t fullest = 0;          // of `memory`
  std::vector<PhaseTime> times;     // phases that run, in order
  std::array<Seconds, kStepParts> parts{};
  std::optional<EngineMemory> engine;
  std::optional<Generation> generation;
  double memory_share = 0;  // of the engine, as given or derived
  Bytes capacity;           // of one GPU
  Bytes host;               // of the fullest node
  Seconds step;
  double gpus = 0;
  double tokens = 0;     // of all sequences
  double generated = 0;  // … of their responses
  double dollars = 0;    // per step; 0: no price known
  /// False when a rule rejected it before anything was priced.
  [[nodiscard]] bool priced() const { return !memory.empty(); }
};

/// Prices the question.  [docs/formulas.md#M10, T14]
/// Preconditions: every model in use lies in exactly one pool, and so does the engine where it generates.
[[nodiscard]] PostTrainingPlan plan_post_training(const PostTraining& question,
                                                  const Calibration& calibration);

}  // namespace hexaplan::costmodel
