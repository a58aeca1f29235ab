#pragma once
#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "gui/app/jobs/measured_logs.h"
#include "gui/app/jobs/validated_runs.h"
#include "gui/plot/residual_plot.h"
#include "presets/json/read_json.h"
#include "validator/executor/report/execution_report.h"

namespace hexaplan::gui {

/// A step that was executed, beside its prediction.
struct MeasuredRun {
  QString path;
  EvaluationPtr predicted;
  validator::ExecutionReport report;
};

/// Many measured rows beside their predictions: what 'hexaplan accuracy --rows --json' writes.
struct MeasuredRows {
  QString path;
  ResidualData times, memories;
};

using Measurements = std::variant<std::shared_ptr<const MeasuredRun>, std::shared_ptr<const MeasuredRows>,
                                  std::shared_ptr<const ValidatedRuns>, std::shared_ptr<const MeasuredLogs>>;

/// A file of measurements, as it was read and as it was understood.
struct MeasuredFile {
  QString name;  // for people
  presets::JsonValue document;
  std::optional<Measurements> measured;
  QString problem;  // why there are none
};
using MeasuredFilePtr = std::shared_ptr<const MeasuredFile>;

/// True for the schemas that `readMeasurements` understands: hexaplan/run/1, hexaplan/accuracy/1,
/// hexaplan/validation/1, hexaplan/measure/1.
[[nodiscard]] bool holdsMeasurements(const std::string& schema);

/// Reads a report and predicts what it measured. InputError when a field is missing or is something else, or
/// when nothing was executed. For worker threads.
[[nodiscard]] Measurements readMeasurements(const QString& path, const presets::JsonDocument& document);
/// The same as a file that is kept: one that cannot be understood here says why.
[[nodiscard]] MeasuredFilePtr readMeasuredFile(const QString& name, const presets::JsonDocument& document);

}  // namespace hexaplan::gui
