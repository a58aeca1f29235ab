#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::planner {

/// A cluster of one GPU type, and its calibration; also how many sequences it takes per step. A search over
/// GPU counts, types or batches has one per choice. Plans of different batches are ranked by their time per
/// token.
struct HardwareOption {
  costmodel::ClusterSpec cluster;
  costmodel::Calibration calibration;
  std::int64_t global_batch = 0;  // sequences; 0 = the recipe's
};

/// Values of every dimension. An empty list stands for the default values (docs/search.md): divisors of the
/// world size for the degrees, what the framework supports for the rest. Data parallelism follows from the
/// other degrees; `dp` only restricts it.
struct SearchSpace {
  std::vector<int> dp, tp, cp, pp, vpp, ep;
  std::vector<int> etp;                           // 0 = the layout's tp
  std::vector<bool> sp;                           // Megatron sequence parallelism; varied where tp > 1
  std::vector<int> zero;                          // ZeRO stages 0..3; 3 = FSDP
  std::vector<int> shard_group;                   // ranks per shard group, 0 = all; varied where zero > 0
  std::vector<std::int64_t> micro_batch;          // sequences
  std::vector<costmodel::Recompute> recompute;    // mode Layers with 0 layers: every count below a stage's
  std::vector<costmodel::ScheduleKind> schedule;  // varied where pp > 1; vpp > 1 only with Interleaved
  std::vector<costmodel::StageSplit> split;       // not Explicit; with vpp = 1 only the first
  std::vector<costmodel::ContextKind> context;    // varied where cp > 1
  std::vector<std::array<costmodel::Axis, 4>> order;  // of ranks, innermost axis first
  std::optional<bool> unequal_stages;                 // unset: whether the framework supports it
  std::vector<costmodel::Precision> precision;        // empty: the recipe's
  std::vector<std::uint8_t> offload;                  // each a set of OffloadTarget bits
  std::vector<double> offload_fraction;  // of the optimizer's states; varied where they are offloaded
};

enum class Objective : std::uint8_t {
  StepTime,        // shortest optimizer step
  TokensPerGpu,    // most tokens per second and GPU
  Cost,            // fewest dollars (GPU-seconds where GPUs have no price) per token
  Gpus,            // fewest GPUs, then shortest time per token
  MemoryHeadroom,  // most free device memory
};

/// Which step time plans are ranked by, where they are ranked by time or what follows from it.
enum class RankBy : std::uint8_t {
  Expected,  // the predicted one
  P90,       // what nine of ten such predictions stay below: plans nobody has measured lose by it
};

/// Default limit on a plan's chance of running out of memory: one run in twenty.
inline constexpr double kDefaultRisk = 0.05;

/// Limits that a plan must meet. Hours and dollars are those of training on `Recipe::tokens` tokens.
struct Constraints {
  double memory_share = 1.0;       // of the device's memory, at the peak
  double max_risk = kDefaultRisk;  // highest chance of running out of memory, 0..1; 1 = any
  std::optional<double> hours;
  std::optional<double> dollars;  // US dollars; GPUs without a price never meet it
  std::optional<double> mfu;      // 0..1, at least
  /// Whether one of them is a limit of the step.
  [[nodiscard]] bool limit_steps() const { return hours || dollars || mfu; }
};

inline constexpr std::size_t kDefaultTop = 10;

/// The question of a search. `base` holds model, recipe, framework and everything that the space does not
/// vary (vocabulary parallelism, ZeRO++ …); its cluster and the degrees of its layout are ignored.
struct SearchProblem {
  costmodel::Scenario base;
  std::vector<HardwareOption> hardware;
  SearchSpace space;
  Objective objective = Objective::StepTime;
  RankBy rank_by = RankBy::Expected;
  Constraints constraints;
  std::size_t top = kDefaultTop;  // plans in the ranking; they differ in more than the rank order
  bool refine_winners = true;     // try uneven splits and per-stage recompute before ranking
  bool simulate_winners = true;   // price and rank listed plans by discrete-event simulation
};

}  // namespace hexaplan::planner
