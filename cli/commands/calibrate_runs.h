#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "presets/calibration/run_calibration.h"
#include "validator/measure/runs/learn_from_runs.h"

namespace hexaplan::cli {

/// Everything `hexaplan calibrate --from-runs` has to say.
struct RunCalibrateReport {
  presets::RunCalibration learned;
  validator::RunLearning learning;
  std::string out;                 // the file
  std::vector<std::string> notes;  // runs that nothing was learned from, and why
};

/// Reads tables of runs, or logs that list their arguments, learns, writes the calibration. InputError when
/// nothing can be used, or the runs are of several GPU types or frameworks.
[[nodiscard]] RunCalibrateReport run_calibrate_runs(const CalibrateOptions& options);

}  // namespace hexaplan::cli
