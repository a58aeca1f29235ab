#pragma once
#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "costmodel/calibrate/run_constants.h"
#include "presets/json/json_value.h"

namespace hexaplan::presets {

/// What runs of one's own taught of a cluster and its software: a file of schema
/// "hexaplan/run-calibration/1", written by `hexaplan calibrate --from-runs` (README.md beside this file).
struct RunCalibration {
  std::string gpu, framework;  // presets that the runs used
  std::string curves;          // calibration that they were held against; empty: the GPU type's
  std::string source, date;
  costmodel::RunCorrections value{};                      // ln(factor); 0: not learned
  std::array<bool, costmodel::kRunConstantCount> told{};  // learned: these stand in the file
  costmodel::RunCorrections sigma{};                      // one standard deviation of each
};

/// Nothing when the file is of another schema. InputError when it is not as it should be.
[[nodiscard]] std::optional<RunCalibration> read_run_calibration(const std::filesystem::path& path);
/// What read_run_calibration reads back, up to rounding to five digits.
[[nodiscard]] JsonValue run_calibration_json(const RunCalibration& learned);

/// Half the width of a 90 % interval, in standard deviations.
inline constexpr double kHalf90 = 1.6449;

}  // namespace hexaplan::presets
