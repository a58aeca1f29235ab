#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace hexaplan::costmodel {

enum class ScheduleKind : std::uint8_t {
  GPipe,
  OneFOneB,
  Interleaved,
  ZbH1,
  Zb2p,
  Zbv,
  VHalf,
  DualPipe,
  DualPipeV
};
inline constexpr int kScheduleKinds = 9;
enum class ContextKind : std::uint8_t { Ring, AllGather, AllToAll };
inline constexpr int kContextKinds = 3;

/// Axes of the rank grid. DataParallel excludes context parallelism; Expert and ExpertTensor re-partition the
/// ranks of one pipeline stage for the experts' parameters.
enum class Axis : std::uint8_t { Tensor, Context, Data, Pipeline, Expert, ExpertTensor, ExpertData };
inline constexpr int kAxisCount = 7;

enum class StageSplit : std::uint8_t {
  Even,             // remainder layers go to the middle stages: the ends carry embedding and head
  ComputeCost,      // cut where the cumulated parameters pass i/pp of the total (nanotron models/base.py)
  EndsMinusOne,     // first and last stage have one layer fewer
  EmbeddingCounts,  // embedding and head count as one layer each (Megatron --account-for-*)
  /// Embedding, layers, final norm and head are items of one list, cut evenly; what is left over goes to the
  /// first stages (aleph-alpha-scaling core/nn/parallel_module/pipeline_partitioning.py).
  ListedModules,
  Explicit,  // Layout::stage_layers
};
/// True for schedules whose two chunks per stage run down and up again (ZBV, V-Half, DualPipeV).
[[nodiscard]] constexpr bool is_v_shaped(ScheduleKind kind) {
  return kind == ScheduleKind::Zbv || kind == ScheduleKind::VHalf || kind == ScheduleKind::DualPipeV;
}

/// Copies of the model that a schedule's stages hold together: DualPipe feeds micro-batches from both ends,
/// so that rank r has the chunks r and p−1−r (deepseek-ai/DualPipe README, "Parameter per-device 2×").
[[nodiscard]] constexpr int model_copies(ScheduleKind kind) {
  return kind == ScheduleKind::DualPipe ? 2 : 1;
}
/// Model chunks per stage that a schedule runs when it is asked for `vpp`.
[[nodiscard]] constexpr int chunks_per_stage(ScheduleKind kind, int vpp) {
  return is_v_shaped(kind) || model_copies(kind) > 1 ? 2 : vpp;
}

/// How the output layer and its loss are spread over pipeline stages (arXiv:2411.05288).
enum class VocabParallel : std::uint8_t { LastStage, AllStagesOneBarrier, AllStagesTwoBarriers, Interlaced };

/// How parameters, gradients and optimizer states are cut over data-parallel ranks.
struct Sharding {
  int stage = 0;  // ZeRO stage 0..3; 3 = FSDP full shard
  int group =
      0;  // ranks per shard group; 0 = all dp·cp ranks. Smaller: hybrid shard (HSDP), replicated across
  int hpz = 0;                       // ZeRO++ secondary partition size; 0 = off
  bool quantized_weights = false;    // ZeRO++ qwZ
  bool quantized_gradients = false;  // ZeRO++ qgZ
  friend bool operator==(const Sharding&, const Sharding&) = default;
};

/// How the training job is cut across ranks. A replica has dp·tp·cp·pp of them: ep and etp re-partition one
/// stage's ranks (dp·cp·tp == edp·ep·etp) and add none.
struct Layout {
  /// Replicas of everything below, one behind the other, that train apart from each other between outer steps
  /// (Recipe::outer): gradients are reduced inside each of them alone.
  int outer_replicas = 1;
  int dp = 1;
  int tp = 1;
  int cp = 1;
  int pp = 1;
  int vpp = 1;  // model chunks per stage
  int ep = 1;
  int etp = 0;      // tensor-parallel size of the experts; 0 = tp (Megatron's default)
  bool sp = false;  // Megatron sequence parallelism
  Sharding sharding;
  ScheduleKind schedule = ScheduleKind::OneFOneB;  // Interleaved when vpp > 1
  ContextKind context = ContextKind::Ring;
  StageSplit split = StageSplit::Even;
  std::vector<int> stage_layers;  // StageSplit::Explicit: pp·vpp entries in model order
  VocabParallel vocab = VocabParallel::LastStage;
  bool partition_activations = false;  // ZeRO-R: saved layer inputs cut over tp
  /// Innermost axis first. Experts' axes follow: etp takes the place of tp, ep sits inside data.
  std::array<Axis, 4> order = {Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline};
  friend bool operator==(const Layout&, const Layout&) = default;

  /// Ranks of one replica that trains apart from others: all, unless there are some.
  [[nodiscard]] constexpr std::int64_t replica_size() const {
    return static_cast<std::int64_t>(dp) * tp * cp * pp;
  }
  [[nodiscard]] constexpr std::int64_t world_size() const { return outer_replicas * replica_size(); }
  /// Ranks that one more of dp adds.
  [[nodiscard]] constexpr std::int64_t ranks_per_dp() const {
    return static_cast<std::int64_t>(outer_replicas) * tp * cp * pp;
  }
  /// Ranks that see batches of their own in a step.
  [[nodiscard]] constexpr std::int64_t batch_ranks() const { return std::int64_t{outer_replicas} * dp; }
  [[nodiscard]] constexpr int expert_tensor() const { return etp > 0 ? etp : tp; }
  /// Data-parallel replicas of one expert shard.
  [[nodiscard]] constexpr int expert_data() const {
    return static_cast<int>(static_cast<std::int64_t>(dp) * cp * tp /
                            (static_cast<std::int64_t>(ep) * expert_tensor()));
  }
  /// Ranks over which dense parameters are sharded.
  [[nodiscard]] constexpr int shard_ranks() const {
    return sharding.group > 0 && sharding.group < dp * cp ? sharding.group : dp * cp;
  }
};

/// True when the embedding and the output layer lie on different pipeline stages, so that a tied model keeps
/// a copy for each; a V-shaped schedule ends on the stage it began on, DualPipe begins and ends on both.
[[nodiscard]] constexpr bool separates_ends(const Layout& layout) {
  return layout.pp > 1 && !is_v_shaped(layout.schedule) && model_copies(layout.schedule) == 1;
}

}  // namespace hexaplan::costmodel
