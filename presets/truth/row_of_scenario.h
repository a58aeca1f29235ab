#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::presets {

/// What was measured of one run; unset: not measured.
struct RunMeasurement {
  std::string id;      // of the row: the file it comes from
  std::string source;  // rows of one source are scored together
  std::optional<costmodel::Seconds> step;
  std::string disturbed;                 // why the step is not scored, "mean of the whole run"; empty: it is
  costmodel::Bytes allocated, reserved;  // of the fullest rank; 0: not measured
};

/// The head of a table of rows, and one row: CSV lines that read_truth_rows reads. The scenario is written in
/// the schema's words; what the schema has no word for is left out, so read the row back and compare.
[[nodiscard]] std::string truth_table_head();
[[nodiscard]] std::string truth_row_of(const costmodel::Scenario& scenario, const RunMeasurement& run);

}  // namespace hexaplan::presets
