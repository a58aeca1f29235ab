#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "presets/calibration/find_calibration.h"
#include "presets/truth/scenario_of_row.h"
#include "validator/measure/accuracy/measured_case.h"

// Rows of tables of measurements, as cases that a prediction is held against.
namespace hexaplan::cli {

/// Rows of a CSV table that may be held against a prediction, disturbed ones included. InputError when it
/// cannot be read.
[[nodiscard]] std::vector<presets::TruthRow> read_rows(const std::string& path);
[[nodiscard]] std::vector<presets::TruthRow> rows_of(const presets::CsvTable& table);

/// Turns rows into cases; reads the curves of a kind of cluster once.
class RowCases {
 public:
  /// `calibration`: preset or file in place of the GPU types' own.
  explicit RowCases(std::string calibration = {}) : calibration_{std::move(calibration)} {}

  /// What was measured, with its family: runs of one source with the same inputs share "vtrain 17", counted
  /// in the order of the calls.
  [[nodiscard]] validator::MeasuredCase measured(const presets::TruthRow& row);
  /// What ran, or why it cannot be predicted, or why what was measured cannot be used.
  [[nodiscard]] presets::RowScenario scenario_of(const presets::TruthRow& row,
                                                 const validator::MeasuredCase& measured);
  /// Depends on the GPU, on what links it inside the node, and on the kind of network.
  [[nodiscard]] const costmodel::Calibration& curves(const costmodel::ClusterSpec& cluster);

 private:
  std::string calibration_;
  presets::RowInterpreter interpreter_;
  std::map<std::string, std::map<std::string, std::size_t>> families_;
  std::map<std::string, costmodel::Calibration> calibrations_;
};

}  // namespace hexaplan::cli
