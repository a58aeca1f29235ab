#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "presets/calibration/write_calibration.h"
#include "validator/measure/fit/fit_calibration.h"
#include "validator/measure/sweep/sweep.h"

namespace hexaplan::cli {

/// What GPUs ran at while points of one kind were measured.
struct ClocksOfKind {
  std::string kind;
  int points = 0;
  double lowest = 0, median = 0, highest = 0;  // MHz of the multiprocessors
  double power = 0, temperature = 0;           // the highest, W and °C
};

/// Everything `hexaplan calibrate` has to say.
struct CalibrateReport {
  bool speaks = true;                          // false: another process of the job does
  std::string device, gpu;                     // what was measured; the preset that it is
  std::vector<std::string> logs;               // of nccl-tests, where nothing was measured
  std::string out, store;                      // files; store empty: none was used
  int measured = 0, stored = 0, left_out = 0;  // points: now, before, no time
  costmodel::Seconds budget, took;
  std::vector<std::string> notes;               // what was not measured, and why
  std::vector<validator::DeviceSpeed> devices;  // of a job, by rank
  std::vector<ClocksOfKind> clocks;             // where the device says them
  int restless = 0;                             // points whose samples vary by more than a tenth
  validator::CalibrationFit fit;
};

/// Measures what the store lacks, fits, writes the calibration; or reads logs and writes a fabric. InputError
/// when something cannot be used, StoreError, RankFault. `progress`: a line on stderr.
[[nodiscard]] CalibrateReport run_calibrate(const CalibrateOptions& options, bool progress);

/// The same of --from alone.
[[nodiscard]] CalibrateReport run_calibrate_links(const CalibrateOptions& options);

/// Links of a fit as a file has them; nothing measured: no curves and no network.
[[nodiscard]] presets::LinksToWrite links_to_write(const validator::CalibrationFit& fit,
                                                   const costmodel::ClusterSpec& cluster, std::string source);
/// Today in UTC: "2026-11-22".
[[nodiscard]] std::string today();

}  // namespace hexaplan::cli
