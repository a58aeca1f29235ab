#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/commands/question.h"
#include "cli/options.h"
#include "cli/render/gantt_text.h"
#include "costmodel/simulate/critical_path.h"
#include "costmodel/simulate/simulation.h"
#include "costmodel/step/estimate.h"

namespace hexaplan::cli {

/// Everything `hexaplan simulate` has to say.
struct SimulateReport {
  Question question;
  std::int64_t parameters = 0;
  costmodel::Estimate estimate;                     // the closed form of the same question
  std::optional<costmodel::Simulation> simulation;  // nothing when a rule rejected the layout
  TimelineSurvey survey;                            // of its spans, where a text shows them
  std::optional<costmodel::PathTimes> path;         // critical; nothing of more than kMostFollowedTasks
};

/// Reads the question, simulates, writes the files that were asked for. A layout that cannot
/// run has nothing to write. `json`: no text is made. A trace is written while the step runs; pictures keep
/// its spans. InputError when something cannot be used or written, or the simulation would be too large.
[[nodiscard]] SimulateReport run_simulate(const SimulateOptions& options, bool json);

}  // namespace hexaplan::cli
