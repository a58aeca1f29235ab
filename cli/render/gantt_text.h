#pragma once
#include <array>
#include <functional>
#include <limits>
#include <string>

#include "cli/render/terminal.h"
#include "costmodel/simulate/simulation.h"

namespace hexaplan::cli {

/// What has to be known of all spans before the first is drawn.
struct TimelineSurvey {
  costmodel::Seconds shortest_pass{std::numeric_limits<double>::infinity()};  // forward or backward
  std::array<bool, costmodel::kSpanKinds> seen{};
  void add(const costmodel::StageTimeline& piece);
};

/// Runs the step and hands its spans to the argument: a picture is made of spans that nobody keeps.
using TimelineFeed = std::function<void(const costmodel::TakePiece&)>;

/// The step as letters, a line per stage, as wide as the terminal; then its beginning at a scale at which
/// micro-batch numbers can be read, where they cannot in the whole. Ends with a legend. `totals` of the same
/// step; `survey` of all that `feed` hands on.
[[nodiscard]] std::string gantt_text(const costmodel::Simulation& totals, const TimelineSurvey& survey,
                                     const TimelineFeed& feed, const TextStyle& style);

}  // namespace hexaplan::cli
