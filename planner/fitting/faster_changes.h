#pragma once
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "costmodel/step/estimate.h"
#include "planner/fitting/fitting_changes.h"

namespace hexaplan::planner {

/// One change that makes a step shorter, or that makes a plan fit.
struct FasterChange {
  std::string_view what;                 // "twice the micro-batch"
  std::vector<ChangedSetting> settings;  // {"micro-batch", "2"}
  costmodel::Scenario scenario;          // with the change
  costmodel::Estimate estimate;          // of it: it fits with a chance of at most kDefaultRisk to run out
};

/// Whether a changed scenario may be proposed: what a launch file can say, for example. Asked before it is
/// priced.
using MayPropose = std::function<bool(const costmodel::Scenario& changed)>;

/// Share of the step that a change must save to be worth a word.
inline constexpr double kWorthSaying = 0.01;

/// Single changes of `scenario` on the same machines and global batch that fit safely and make its step,
/// which takes what `now` says, shorter by more than kWorthSaying; where the present plan does not fit
/// safely, all that do. Changes whose price leaves out what the present one contains are none. The fastest
/// `most`.
[[nodiscard]] std::vector<FasterChange> faster_changes(const costmodel::Scenario& scenario,
                                                       const costmodel::Estimate& now,
                                                       const costmodel::Calibration& calibration,
                                                       std::size_t most, const MayPropose& may_propose = {});

/// As faster_changes judges a price: it fits, and with a chance of at most kDefaultRisk to run out of memory.
[[nodiscard]] bool fits_safely(const costmodel::Estimate& estimate);

/// Whether a plan of price `changed` is worth proposing to whoever has one of price `now`.
[[nodiscard]] bool worth_saying(const costmodel::Estimate& now, const costmodel::Estimate& changed);

}  // namespace hexaplan::planner
