#include "cli/commands/measure_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "costmodel/units/format_units.h"
#include "presets/json/input_error.h"
#include "presets/truth/csv.h"
#include "presets/truth/row_of_scenario.h"
#include "presets/truth/scenario_of_row.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::Estimate;
using presets::InputError;
using presets::RunMeasurement;

namespace {

constexpr double kSame = 0.03;

std::string id_of(const std::string& file) {
  return std::filesystem::path{file}.stem().string();
}

RunMeasurement measurement_of(const ImportedRun& run) {
  RunMeasurement measurement{.id = id_of(run.log.file),
                             .source = "own",
                             .step = {},
                             .disturbed = {},
                             .allocated = {},
                             .reserved = {}};
  if (run.unit == StepUnit::Step) measurement.step = run.steady.median;
  if (run.log.whole_run_mean) measurement.disturbed = "mean of the whole run, its start included";
  for (const ComparedPeak& peak : run.peaks) {
    Bytes& fullest = peak.reserved ? measurement.reserved : measurement.allocated;
    fullest = std::max(fullest, peak.measured);
  }
  return measurement;
}

RunMeasurement measurement_of(const ImportedSnapshot& imported) {
  RunMeasurement measurement{.id = id_of(imported.snapshot.file),
                             .source = "own",
                             .step = {},
                             .disturbed = {},
                             .allocated = {},
                             .reserved = {}};
  for (const presets::SnapshotDevice& device : imported.snapshot.devices) {
    if (device.events == 0) continue;  // peaks are not known
    measurement.allocated = std::max(measurement.allocated, device.peak_allocated);
    measurement.reserved = std::max(measurement.reserved, device.peak_reserved);
  }
  return measurement;
}

bool is_empty(const RunMeasurement& measurement) {
  return !measurement.step && measurement.allocated == Bytes{} && measurement.reserved == Bytes{};
}

bool differs(double a, double b) {
  return std::abs(a - b) > kSame * std::max(a, b);
}

/// Throws where the row, read back, is another scenario.
void check_row(const std::string& table, const MeasureReport& report) {
  const auto rows = presets::read_truth_rows(presets::parse_csv(table, "row"));
  presets::RowInterpreter interpreter;
  const presets::RowScenario back = interpreter.scenario_of(rows.front());
  if (const auto* none = std::get_if<presets::NoScenario>(&back))
    throw InputError({.field = "--as-row",
                      .value = none->reason,
                      .expected = "a scenario that the columns of docs/accuracy.md can say"});
  const Estimate& asked = *report.estimate;
  const Estimate read =
      costmodel::estimate_step(std::get<costmodel::Scenario>(back), report.question->calibration);
  const bool same = !read.stages.empty() && !differs(read.time.total().value(), asked.time.total().value()) &&
                    !differs(read.peak().allocated.value(), asked.peak().allocated.value());
  if (same) return;
  throw InputError({.field = "--as-row",
                    .value = read.stages.empty()
                                 ? std::string{"a row that no rule allows"}
                                 : fmt::format("a row that, read back, takes {} and {} instead of {} and {}",
                                               costmodel::format_duration(read.time.total()),
                                               costmodel::format_binary(read.peak().allocated),
                                               costmodel::format_duration(asked.time.total()),
                                               costmodel::format_binary(asked.peak().allocated)),
                    .expected = "a scenario that the columns of docs/accuracy.md can say",
                    .hint = "what they cannot say: norms of queries and keys, windows, multi-token "
                            "prediction, adapted layers, uneven stages, ZeRO++, …"});
}

}  // namespace

std::string measured_rows(const MeasureReport& report) {
  if (!report.priced())
    throw InputError(
        {.field = "--as-row",
         .value = report.question ? "a layout that no rule allows" : "no question",
         .expected = "what ran: --scenario, --from, --model …, or a log that lists its arguments"});
  std::vector<RunMeasurement> measurements;
  for (const ImportedRun& run : report.runs) measurements.push_back(measurement_of(run));
  for (const ImportedSnapshot& snapshot : report.snapshots) measurements.push_back(measurement_of(snapshot));
  std::erase_if(measurements, is_empty);
  if (measurements.empty())
    throw InputError({.field = "--as-row",
                      .value = "no step and no peak",
                      .expected = "a log, or a memory snapshot with events",
                      .hint = "the step of a profiled run is slower than that of others"});
  std::string table = presets::truth_table_head();
  for (const RunMeasurement& measurement : measurements)
    table += presets::truth_row_of(report.question->scenario, measurement);
  check_row(table, report);
  return table;
}

}  // namespace hexaplan::cli
