#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/not_modelled.h"
#include "costmodel/step/estimate.h"
#include "planner/problem/problem.h"

namespace hexaplan::planner {

/// A setting and the value it gets: {"recompute", "full"}, {"micro-batch", "1"}; words of the layout have the
/// name "layout": {"layout", "zero1"}.
struct ChangedSetting {
  std::string_view name;
  std::string value;
};

/// A change to the question that would make it fit, and what it would then take.
struct FittingChange {
  std::vector<ChangedSetting> settings;
  costmodel::Recipe recipe;  // with the change
  costmodel::Layout layout;
  costmodel::Bytes peak;  // what the fullest GPU needs (StageMemory::needed)
  costmodel::Seconds step;
  double risk = 0;  // chance of running out of memory
  /// What the change brings that neither peak nor step contain: whoever proposes it says so.
  std::vector<costmodel::KnobNote> not_modelled;
};

/// One or two changes of recipe and layout together (three where two do not do), on the same cluster and
/// global batch, that make `scenario` fit with a chance of running out of memory of at most `max_risk`: the
/// quickest `most` of them, those whose cost is not modelled last. None contains another that fits already.
/// Empty when none does.
[[nodiscard]] std::vector<FittingChange> fitting_changes(const costmodel::Scenario& scenario,
                                                         const costmodel::Calibration& calibration,
                                                         std::size_t most, double max_risk = kDefaultRisk);

}  // namespace hexaplan::planner
