#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "costmodel/units/quantity.h"
#include "validator/validate/validation.h"

namespace hexaplan::cli {

/// Everything `hexaplan validate` has to say.
struct ValidateReport {
  std::string device;       // as --device
  std::string hardware;     // GPU preset that stands for what is here
  std::string calibration;  // whose curves predict; empty: time is not compared
  std::vector<std::string> notes;
  std::int64_t steps = 0, warm_up = 0;
  std::vector<validator::ValidatedScenario> scenarios;
  costmodel::Seconds elapsed;

  [[nodiscard]] bool any_measured() const;
};

/// Plans or takes scenarios, runs them one after the other and compares. What fails in one is its row.
/// InputError when something cannot be used at all. A line per scenario on stderr unless `quiet`.
[[nodiscard]] ValidateReport run_validate(const ValidateOptions& options, bool quiet);

}  // namespace hexaplan::cli
