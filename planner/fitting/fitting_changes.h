#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/program/not_modelled.h"
#include "costmodel/step/estimate.h"
#include "planner/problem/problem.h"

namespace hexaplan::planner {

/// A setting and its new value: {"recompute", "full"}, {"micro-batch", "1"}; words of the layout have the
/// name "layout": {"layout", "zero1"}.
struct ChangedSetting {
  std::string_view name;
  std::string value;
};

/// Sequence parallelism beside tensor parallelism, where the framework has it and the layout has it not.
[[nodiscard]] std::vector<ChangedSetting> split_sequences(costmodel::Scenario& scenario);

/// Sets how layers are recomputed, in whatever the framework has of it; empty: it has not, or it is so
/// already.
[[nodiscard]] std::vector<ChangedSetting> change_recompute(costmodel::Scenario& scenario,
                                                           costmodel::RecomputeMode mode, const char* word);

/// A change that makes the scenario fit, with its memory and step time.
struct FittingChange {
  std::vector<ChangedSetting> settings;
  costmodel::Recipe recipe;  // with the change
  costmodel::Layout layout;
  costmodel::Bytes peak;  // what the fullest GPU needs (StageMemory::needed)
  costmodel::Seconds step;
  double risk = 0;  // chance of running out of memory
  /// Effects of the change that neither peak nor step time contain; to be shown with it.
  std::vector<costmodel::KnobNote> not_modelled;
};

/// One or two changes of recipe and layout together (three if two are not enough), on the same cluster and
/// global batch, that make `scenario` fit with a chance of running out of memory of at most `max_risk`: the
/// fastest `most` of them, those with unmodelled costs last. None contains a smaller set that already fits.
/// Empty if there is none.
[[nodiscard]] std::vector<FittingChange> fitting_changes(const costmodel::Scenario& scenario,
                                                         const costmodel::Calibration& calibration,
                                                         std::size_t most, double max_risk = kDefaultRisk);

}  // namespace hexaplan::planner
