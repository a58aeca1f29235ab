#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// How a model is trained after its pre-training: which models take part, and whether they generate.
enum class PostTrainingAlgorithm : std::uint8_t {
  Grpo,  // arXiv:2402.03300 §4.1: several responses per prompt, no critic
  Ppo,   // arXiv:1707.06347, arXiv:2203.02155 §3.5: actor, reference, critic, reward
  Dpo,   // arXiv:2305.18290: pairs of answers that exist already; actor and reference
};

enum class ModelRole : std::uint8_t { Actor, Reference, Critic, Reward };
inline constexpr int kModelRoles = 4;

struct RoleRow {
  ModelRole id;
  std::string_view name;
  bool trained;
};
/// By ModelRole.
inline constexpr std::array<RoleRow, kModelRoles> kRoles{{
    {ModelRole::Actor, "actor", true},
    {ModelRole::Reference, "reference", false},
    {ModelRole::Critic, "critic", true},
    {ModelRole::Reward, "reward", false},
}};

/// What waits in host memory while other phases run (verl: actor.fsdp_config.param_offload,
/// optimizer_offload, ref.fsdp_config.param_offload; loaded before a phase and taken away after it).
enum IdleOffload : std::uint8_t {
  kIdleActorParameters = 1,
  kIdleActorOptimizer = 2,
  kIdleReference = 4,
  kIdleCriticParameters = 8,
  kIdleCriticOptimizer = 16,
  kIdleReward = 32,
};

/// What the rollout engine keeps while it does not generate (vLLM docs/features/sleep_mode.md).
enum class EngineSleep : std::uint8_t {
  Awake,      // everything
  Offloaded,  // level 1: weights in host memory, cache dropped
  Discarded,  // level 2: neither; the next weights come from the trainer
};

/// Lengths in tokens: of which mean, and which is the longest.
struct TokenLengths {
  double mean = 0;
  std::int64_t longest = 0;
  friend bool operator==(const TokenLengths&, const TokenLengths&) = default;
};

/// What one step works on.
struct RolloutBatch {
  std::int64_t prompts = 0;    // per step; DPO: pairs
  std::int64_t responses = 1;  // per prompt; DPO: 2, the chosen and the rejected one
  TokenLengths prompt, response;
  int mini_batches = 1;  // optimizer steps that one pass over the responses is cut into
  int epochs = 1;        // passes
  bool packed = true;    // sequences of one pass fill its tokens; false: each is padded to the longest
  [[nodiscard]] constexpr std::int64_t sequences() const { return prompts * responses; }
  [[nodiscard]] constexpr std::int64_t longest() const { return prompt.longest + response.longest; }
  [[nodiscard]] constexpr double mean() const { return prompt.mean + response.mean; }
  friend bool operator==(const RolloutBatch&, const RolloutBatch&) = default;
};

/// The engine that generates responses, as vLLM works (arXiv:2309.06180): paged cache, continuous batching.
struct RolloutEngine {
  int tp = 1;
  DType weights = DType::Bf16;  // Bf16, Fp16 or Fp8
  DType cache = DType::Bf16;
  /// Of the GPU's memory, for weights, activations and cache (vLLM's gpu_memory_utilization). Unset: what the
  /// models beside it leave, at most vLLM's default.
  std::optional<double> memory_share;
  std::int64_t max_sequences = 256;    // that decode together (vLLM max_num_seqs, verl's default)
  std::int64_t batched_tokens = 8192;  // of one prefill (max_num_batched_tokens, verl's default)
  bool prefix_caching = true;          // responses of one prompt share its cache
  EngineSleep sleep = EngineSleep::Discarded;
  FrameworkProfile framework;  // whose kernels it runs
};

/// GPUs that some of the models share, and the engine with them.
struct GpuPool {
  ClusterSpec cluster;
  std::array<bool, kModelRoles> holds{};  // by ModelRole
  bool engine = false;
};

/// Post-training of several models at once, as one question. A model's scenario says its architecture,
/// layout, recipe and framework; sequence and batch follow from the rollouts, its cluster from its pool.
struct PostTraining {
  PostTrainingAlgorithm algorithm = PostTrainingAlgorithm::Grpo;
  RolloutBatch batch;
  RolloutEngine engine;
  std::uint8_t offload_idle = 0;  // IdleOffload bits
  bool old_log_probs = true;      // the trainer's own, before its weights change
  /// The next batch is generated while this one is trained (one step off the policy).
  bool asynchronous = false;
  /// The reference is the actor with its adapters off, and holds nothing of its own (verl
  /// workers/fsdp_workers.py: ref_in_actor where lora_rank > 0; TRL trainer/grpo_trainer.py: ref_model = None
  /// for PEFT models).
  bool reference_in_actor = false;
  std::int64_t score_micro_batch = 0;  // of passes without backward; 0: the recipe's micro-batch
  std::array<std::optional<Scenario>, kModelRoles> models;  // by ModelRole; the actor is there
  ClusterSpec cluster;                                      // all GPUs
  std::vector<GpuPool> pools;
  [[nodiscard]] const std::optional<Scenario>& model(ModelRole role) const {
    return models[static_cast<std::size_t>(role)];
  }
  [[nodiscard]] const Scenario& actor() const { return *model(ModelRole::Actor); }
  [[nodiscard]] constexpr bool generates() const { return algorithm != PostTrainingAlgorithm::Dpo; }
};

}  // namespace hexaplan::costmodel
