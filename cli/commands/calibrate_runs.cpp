#include "cli/commands/calibrate_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>
#include <utility>
#include <variant>

#include "cli/commands/calibrate.h"
#include "cli/commands/measure_rows.h"
#include "cli/commands/row_cases.h"
#include "cli/version.h"
#include "cli/write_file.h"
#include "presets/json/input_error.h"

namespace hexaplan::cli {

using costmodel::Scenario;
using presets::InputError;
using presets::TruthRow;
using validator::OwnRun;

namespace {

/// Rows of a table, or of a log as `measure import --as-row` writes them.
std::vector<TruthRow> rows_in(const std::string& file, const std::string& cluster) {
  if (std::filesystem::path{file}.extension() == ".csv") return read_rows(file);
  MeasureOptions options;
  options.files = {file};
  options.question.cluster = cluster;
  return rows_of(presets::parse_csv(measured_rows(run_measure(options)), file));
}

bool is_learnable(const validator::MeasuredCase& measured) {
  return measured.step || std::any_of(measured.memory.begin(), measured.memory.end(), [](const auto& m) {
           return m.kind == validator::MemoryKind::Reserved;
         });
}

/// The runs of a file that can be learned from; a note for each other.
void append_runs(const std::string& file, const std::string& cluster, RowCases& cases,
                 std::vector<OwnRun>& runs, std::vector<std::string>& notes) {
  for (const TruthRow& row : rows_in(file, cluster)) {
    validator::MeasuredCase measured = cases.measured(row);
    if (!is_learnable(measured)) {
      notes.push_back(fmt::format(
          "{}: left out, {}", row.case_id,
          measured.disturbed_step ? row.excluded_because : "no step time and no reserved memory"));
      continue;
    }
    presets::RowScenario found = cases.scenario_of(row, measured);
    if (const auto* none = std::get_if<presets::NoScenario>(&found)) {
      notes.push_back(fmt::format("{}: left out, {}", row.case_id, none->reason));
    } else {
      runs.push_back({std::move(measured), std::move(std::get<Scenario>(found))});
    }
  }
}

/// The one value that all runs of `files` have; InputError when there are several.
template <class Value>
std::string only_value(const std::string& files, const std::vector<OwnRun>& runs, const char* what,
                       const Value& value) {
  std::set<std::string> values;
  for (const OwnRun& run : runs) values.insert(value(run.scenario));
  if (values.size() == 1) return *values.begin();
  throw InputError({.file = files,
                    .field = what,
                    .value = fmt::format("runs of {}", fmt::join(values, ", ")),
                    .expected = fmt::format("runs of one {}", what),
                    .hint = "a call for each writes a calibration for each"});
}

}  // namespace

RunCalibrateReport run_calibrate_runs(const CalibrateOptions& options) {
  RunCalibrateReport report;
  RowCases cases{options.calibration};
  std::vector<OwnRun> runs;
  const std::string files = fmt::format("{}", fmt::join(options.from_runs, ", "));
  for (const std::string& file : options.from_runs)
    append_runs(file, options.cluster, cases, runs, report.notes);
  if (runs.empty()) {
    throw InputError({.file = files,
                      .field = "runs",
                      .value = "none that can be learned from",
                      .expected = "a run with a step time or reserved memory that can be predicted",
                      .hint = report.notes.empty() ? "'hexaplan measure import … --as-row' writes such rows"
                                                   : report.notes.front()});
  }
  presets::RunCalibration& learned = report.learned;
  learned.gpu = only_value(files, runs, "GPU type", [](const Scenario& s) { return s.cluster.gpu.name; });
  learned.framework =
      only_value(files, runs, "framework", [](const Scenario& s) { return s.framework.name; });
  learned.curves = options.calibration;
  learned.date = today();
  report.learning = validator::learn_from_runs(
      runs,
      [&](const costmodel::ClusterSpec& c) -> const costmodel::Calibration& { return cases.curves(c); });
  if (report.learning.figures.empty())
    throw InputError({.file = files,
                      .field = "layout",
                      .value = runs.front().measured.id,
                      .expected = "runs with a layout that no rule rejects"});
  learned.source = fmt::format("{} run{} of {}, read by hexaplan {}", runs.size(),
                               runs.size() == 1 ? "" : "s", files, version_text());
  const validator::LearnedConstants& constants = report.learning.constants;
  learned.value = constants.value;
  learned.told = constants.told;
  learned.sigma = constants.sigma;
  report.out =
      options.out.empty() ? fmt::format("runs-{}-{}.json", learned.gpu, learned.framework) : options.out;
  write_file(report.out, presets::to_text(run_calibration_json(learned)) + "\n");
  return report;
}

}  // namespace hexaplan::cli
