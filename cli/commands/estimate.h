#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/question.h"
#include "cli/options.h"
#include "costmodel/program/step_allocations.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/largest.h"
#include "costmodel/step/training_cost.h"
#include "planner/fitting/fitting_changes.h"

namespace hexaplan::cli {

struct Explanation {
  int stage = 0;
  costmodel::Instant instant = costmodel::kBackward;
  std::vector<costmodel::TensorEntry> tensors;
  std::vector<costmodel::PricedOperation> operations;
};

/// What PyTorch's allocator makes of the steps of every stage's ranks.
struct AllocatorReport {
  struct Stage {
    int stage = 0;
    costmodel::program::SimulatedAllocator asked;
    /// The same with expandable segments; nothing where they are asked for anyway.
    std::optional<costmodel::program::SimulatedAllocator> expandable;
  };
  std::string words;          // --allocator
  std::string not_simulated;  // why there are no stages
  std::vector<Stage> stages;
};

/// Everything `hexaplan estimate` has to say.
struct EstimateReport {
  Question question;
  std::int64_t parameters = 0;
  costmodel::Estimate estimate;
  std::optional<costmodel::TrainingCost> training;
  std::vector<planner::FittingChange> changes;  // only when it does not fit, or fits at risk
  std::optional<Explanation> explanation;
  std::optional<AllocatorReport> allocator;  // with --allocator

  [[nodiscard]] bool fits() const { return std::holds_alternative<costmodel::Fits>(estimate.verdict); }
  /// Fits by its expected peak, with a chance of running out of memory above what `search` allows.
  [[nodiscard]] bool at_risk() const {
    return fits() && estimate.out_of_memory_probability > planner::kDefaultRisk;
  }
  /// False when a rule rejected the layout before anything was priced.
  [[nodiscard]] bool priced() const { return !estimate.stages.empty(); }
};

/// Reads the scenario file and flags, writes --save-scenario, prices. InputError when something cannot be
/// used.
[[nodiscard]] EstimateReport run_estimate(const EstimateOptions& options);

/// Fills in `changes`: up to a hundred times the work of the estimate. Nothing where it fits safely, or a
/// rule rejected it.
void suggest_changes(EstimateReport& report);

}  // namespace hexaplan::cli
