#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::planner {

/// One offer of hardware: a number of GPUs of one type, and what is known of their speed. A search over GPU
/// counts or types has one of these for each.
struct HardwareOption {
  costmodel::ClusterSpec cluster;
  costmodel::Calibration calibration;
};

/// Values that every dimension may take. An empty list means every sensible value (docs/search.md says
/// which): the divisors of the world for the degrees, what the framework runs for the rest. Data parallelism
/// follows from the others, as the GPUs that are left; `dp` only restricts it.
struct SearchSpace {
  std::vector<int> dp, tp, cp, pp, vpp, ep;
  std::vector<int> etp;                           // 0 = the layout's tp
  std::vector<bool> sp;                           // Megatron sequence parallelism; asked where tp > 1
  std::vector<int> zero;                          // ZeRO stages 0..3; 3 = FSDP
  std::vector<int> shard_group;                   // ranks per shard group, 0 = all; asked where zero > 0
  std::vector<std::int64_t> micro_batch;          // sequences
  std::vector<costmodel::Recompute> recompute;    // mode Layers with 0 layers: every count below a stage's
  std::vector<costmodel::ScheduleKind> schedule;  // asked where pp > 1; vpp > 1 goes with Interleaved alone
  std::vector<costmodel::StageSplit> split;       // not Explicit; with vpp = 1 the first alone
  std::vector<costmodel::ContextKind> context;    // asked where cp > 1
  std::vector<std::array<costmodel::Axis, 4>> order;  // of ranks, innermost axis first
  std::optional<bool> unequal_stages;                 // unset: what the framework can
  std::vector<costmodel::Precision> precision;        // empty: the recipe's
};

enum class Objective : std::uint8_t {
  StepTime,        // shortest optimizer step
  TokensPerGpu,    // most tokens per second and GPU
  Cost,            // fewest dollars (GPU-seconds where GPUs have no price) per token
  Gpus,            // fewest GPUs, then shortest step
  MemoryHeadroom,  // most device memory left over
};

/// Highest chance of running out of memory that a plan may have where nobody said another: one run in twenty.
inline constexpr double kDefaultRisk = 0.05;

/// What a plan must keep. Hours and cost are those of training on `Recipe::tokens` tokens.
struct Constraints {
  double memory_share = 1.0;       // of the device's memory, at the peak
  double max_risk = kDefaultRisk;  // highest chance of running out of memory, 0..1; 1 = any
  std::optional<double> hours;
  std::optional<double> dollars;  // GPUs without a price never meet it
  std::optional<double> mfu;      // 0..1, at least
};

inline constexpr std::size_t kDefaultTop = 10;

/// What to look for. `base` gives model, recipe, framework and whatever the space does not vary (stage split,
/// vocabulary parallelism, ZeRO++ …); its cluster and the degrees of its layout are not read.
struct SearchProblem {
  costmodel::Scenario base;
  std::vector<HardwareOption> hardware;
  SearchSpace space;
  Objective objective = Objective::StepTime;
  Constraints constraints;
  std::size_t top = kDefaultTop;  // plans in the ranking; differing in more than the order of ranks
  bool refine_winners = true;     // uneven splits and per-stage recompute, before plans are ranked
  bool simulate_winners = true;   // listed plans are priced and ranked by discrete events
};

}  // namespace hexaplan::planner
