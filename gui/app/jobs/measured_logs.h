#pragma once
#include <QString>
#include <QStringList>
#include <vector>

#include "gui/models/report_model.h"
#include "presets/json/read_json.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

/// Logs and memory snapshots of runs, logs of nvidia-smi and tables of nccl-tests, beside their prediction:
/// what 'hexaplan measure import --json' writes.
struct MeasuredLogs {
  QString path;
  QStringList titles;  // "Megatron-LM, 90 of 100 lines used"
  QStringList notes;   // how far log and question are of the same run
  std::vector<ReportRow> rows;
};

inline constexpr const char* kMeasureSchema = "hexaplan/measure/1";

/// Reads hexaplan/measure/1. InputError when a field is missing or is something else, or when nothing stands
/// beside a prediction.
[[nodiscard]] MeasuredLogs readMeasuredLogs(const QString& path, const presets::JsonDocument& document);

/// Reads a log or a snapshot and holds it against the question, as 'hexaplan measure import' does. InputError
/// when it cannot be used. For worker threads.
[[nodiscard]] presets::JsonDocument measureFile(const QString& path,
                                                const presets::ScenarioRequest& question);

}  // namespace hexaplan::gui
