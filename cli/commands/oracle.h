#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "presets/oracle/compare_step.h"
#include "presets/oracle/framework_step.h"
#include "presets/oracle/own_profile.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::cli {

/// Everything `hexaplan oracle` has to say.
struct OracleReport {
  presets::ScenarioRequest request;
  costmodel::Scenario scenario;
  std::string weights;  // "bf16 weights", "fp32 weights under autocast"
  std::string python;   // that ran
  presets::FrameworkStep step;
  presets::ComparedNumbers numbers;
  std::optional<presets::OwnProfile> profile;  // with --save
  std::string saved;                           // the file that was written; empty: none
  int signal = 0;                              // that stopped it; then there is no answer
};

/// Runs the step with the user's Python. `tell`: notes and stages on stderr. InputError when the framework's
/// step cannot be run here, or not at all.
[[nodiscard]] OracleReport run_oracle(const OracleOptions& options, bool tell);

}  // namespace hexaplan::cli
