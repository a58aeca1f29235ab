#include "cli/commands/fitting_changes.h"

#include <fmt/format.h>

#include <algorithm>

namespace hexaplan::cli {

using costmodel::Layout;
using costmodel::RecomputeMode;
using costmodel::Scenario;

namespace {

/// One thing to try: changes the scenario and names the change, or returns an empty string when it does not
/// apply.
using Attempt = std::string (*)(Scenario&);

std::string shard_more(Scenario& s, int stage, const char* name) {
  if (s.layout.sharding.stage >= stage) return {};
  s.layout.sharding.stage = stage;
  return name;
}

/// Twice the model parallelism on the same GPUs.
std::string trade_data_parallelism(Scenario& s, int Layout::*degree, const char* name) {
  if (s.layout.dp % 2 != 0) return {};
  s.layout.dp /= 2;
  s.layout.*degree *= 2;
  return fmt::format("{}{} dp{}", name, s.layout.*degree, s.layout.dp);
}

constexpr Attempt kAttempts[] = {
    [](Scenario& s) -> std::string {
      if (s.recipe.micro_batch <= 1) return {};
      s.recipe.micro_batch = 1;
      return "--micro-batch 1";
    },
    [](Scenario& s) { return shard_more(s, 1, "zero1 in the layout"); },
    [](Scenario& s) { return shard_more(s, 2, "zero2 in the layout"); },
    [](Scenario& s) { return shard_more(s, 3, "fsdp in the layout"); },
    [](Scenario& s) -> std::string {
      if (s.layout.sp || s.layout.tp == 1) return {};
      s.layout.sp = true;
      return "sp in the layout";
    },
    [](Scenario& s) -> std::string {
      if (s.recipe.recompute.mode != RecomputeMode::None) return {};
      s.recipe.recompute = {.mode = RecomputeMode::Selective};
      return "--recompute selective";
    },
    [](Scenario& s) -> std::string {
      if (s.recipe.recompute.mode == RecomputeMode::Full) return {};
      s.recipe.recompute = {.mode = RecomputeMode::Full};
      return "--recompute full";
    },
    [](Scenario& s) { return trade_data_parallelism(s, &Layout::tp, "tp"); },
    [](Scenario& s) { return trade_data_parallelism(s, &Layout::pp, "pp"); },
    [](Scenario& s) { return trade_data_parallelism(s, &Layout::cp, "cp"); },
    [](Scenario& s) -> std::string {
      const std::string sharded = shard_more(s, 3, "fsdp in the layout");
      if (sharded.empty() || s.recipe.recompute.mode == RecomputeMode::Full) return {};
      s.recipe.recompute = {.mode = RecomputeMode::Full};
      return sharded + " and --recompute full";
    },
};

}  // namespace

std::vector<FittingChange> fitting_changes(const Scenario& scenario,
                                           const costmodel::Calibration& calibration, std::size_t most) {
  std::vector<FittingChange> changes;
  for (const Attempt attempt : kAttempts) {
    Scenario changed = scenario;
    std::string what = attempt(changed);
    if (what.empty()) continue;
    const costmodel::Estimate estimate = costmodel::estimate_step(changed, calibration);
    if (!std::holds_alternative<costmodel::Fits>(estimate.verdict)) continue;
    const auto peak = estimate.stages[static_cast<std::size_t>(estimate.peak_stage)].device;
    changes.push_back({std::move(what), peak, estimate.time.total()});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const FittingChange& a, const FittingChange& b) { return a.step < b.step; });
  changes.resize(std::min(most, changes.size()));
  return changes;
}

}  // namespace hexaplan::cli
