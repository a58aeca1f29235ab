#include "gui/app/jobs/measured_logs.h"

#include <QCoreApplication>

#include "cli/commands/measure.h"
#include "cli/render/measure_text.h"
#include "gui/models/number_text.h"
#include "presets/json/object_reader.h"

namespace hexaplan::gui {

using presets::JsonDocument;
using presets::ObjectReader;
using presets::Reading;
using presets::ValueReader;

namespace {

/// Ranks of the largest job that a file may speak of.
constexpr int kMostLoggedRanks = 1'000'000;

QString loggedText(const char* text) {
  return QCoreApplication::translate("MeasuredLogs", text);
}

void addPeaks(const ValueReader& peaks, const QString& part, MeasuredLogs& into) {
  for (const ValueReader& element : peaks.elements()) {
    ObjectReader peak = element.object();
    const int stage = peak.required("stage").small_integer({0, kMostLoggedRanks});
    const bool reserved = peak.required("kind").text() == "reserved";
    const QString term = reserved
                             ? loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "memory reserved, stage %1"))
                             : loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "memory allocated, stage %1"));
    into.rows.push_back({term.arg(stage), CellUnit::Bytes,
                         peak.required("predicted").number(presets::kNotNegative),
                         peak.required("measured").number(presets::kNotNegative), part});
  }
}

void addRun(ObjectReader run, MeasuredLogs& into) {
  const QString format = QString::fromStdString(run.required("format").text());
  ObjectReader time = run.required("time").object();
  into.titles.append(loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "%1, %2 of %3 logged times used"))
                         .arg(format, countText(time.required("used").integer(presets::kCount)),
                              countText(time.required("lines").integer(presets::kCount))));
  for (const ValueReader& note : run.required("notes").elements())
    into.notes.append(QString::fromStdString(note.text()));
  const auto compared = run.optional("compared");
  if (!compared) return;
  ObjectReader beside = compared->object();
  if (const auto step = beside.optional("step")) {
    ObjectReader total = step->object();
    into.rows.push_back({loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "one step")), CellUnit::Seconds,
                         total.required("predicted").number(presets::kNotNegative),
                         total.required("measured").number(presets::kNotNegative), format});
  }
  addPeaks(beside.required("memory"), format, into);
}

void addSnapshot(ObjectReader snapshot, MeasuredLogs& into) {
  for (const ValueReader& element : snapshot.required("devices").elements()) {
    ObjectReader device = element.object();
    const QString part = loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "memory snapshot, device %1"))
                             .arg(device.required("device").small_integer({0, kMostLoggedRanks}));
    into.titles.append(part);
    addPeaks(device.required("compared"), part, into);
  }
}

}  // namespace

MeasuredLogs readMeasuredLogs(const QString& path, const JsonDocument& document) {
  // Lenient: a report holds more than is shown here, and grows.
  ObjectReader root{document, Reading::Lenient};
  MeasuredLogs logs{.path = path, .titles = {}, .notes = {}, .rows = {}};
  for (const ValueReader& run : root.required("runs").elements()) addRun(run.object(), logs);
  for (const ValueReader& snapshot : root.required("snapshots").elements())
    addSnapshot(snapshot.object(), logs);
  if (logs.rows.empty())
    throw root.error("runs", "logs or memory snapshots beside their prediction",
                     "say what ran: hexaplan measure import FILE --model … --cluster … --json");
  return logs;
}

JsonDocument measureFile(const QString& path, const presets::ScenarioRequest& question) {
  cli::MeasureOptions options;
  options.question.request = question;
  options.files = {path.toStdString()};
  return {path.toStdString(), cli::measure_json(cli::run_measure(options))};
}

}  // namespace hexaplan::gui
