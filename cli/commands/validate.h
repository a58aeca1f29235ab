#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "costmodel/units/quantity.h"
#include "validator/measure/compare/validation.h"

namespace hexaplan::cli {

/// Everything `hexaplan validate` has to say.
struct ValidateReport {
  std::string command;      // that was typed
  std::string device;       // as --device
  std::string hardware;     // GPU preset that stands for what is here
  std::string calibration;  // whose curves predict; empty: time is not compared
  std::vector<std::string> notes;
  std::int64_t steps = 0, warm_up = 0;
  std::string asked;  // "list gpu"
  /// All that were asked for. The first `finished` are through; the others are not run, and their reason says
  /// what kept them.
  std::vector<validator::ValidatedScenario> scenarios;
  std::size_t finished = 0;
  costmodel::Seconds elapsed;
  int signal = 0;         // that ended it before all were through; 0 = none
  bool speaks = true;     // false on processes of a job that leave speaking to another
  bool must_end = false;  // threads that cannot be stopped run on: the process has to end at once

  [[nodiscard]] std::size_t measured() const;
  /// The signal's name, "Ctrl-C"; empty without one.
  [[nodiscard]] std::string stopped_by() const;
  [[nodiscard]] bool complete() const { return finished == scenarios.size(); }
};

/// Gets the report as it stands: before the first scenario and after every one, a call at a time, in the
/// process that speaks.
using ReportKeeper = std::function<void(const ValidateReport& so_far)>;

/// Plans or takes scenarios, runs them one after the other and compares. What fails in one is its row. Ctrl-C
/// and SIGTERM end it at once, with all that was finished by then; `keep` is not called any more then.
/// InputError when something cannot be used at all. A line per scenario on stderr unless `quiet`.
[[nodiscard]] ValidateReport run_validate(const ValidateOptions& options, bool quiet,
                                          const ReportKeeper& keep);

}  // namespace hexaplan::cli
