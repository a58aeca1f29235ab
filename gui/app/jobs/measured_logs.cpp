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

/// What nvidia-smi logged: the fullest GPU.
void addGpuLog(ObjectReader log, MeasuredLogs& into) {
  const QString part = loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "log of nvidia-smi"));
  into.titles.append(part);
  const auto memory = log.optional("memory");
  if (!memory) {
    bool logged = false;
    for (const ValueReader& gpu : log.required("gpus").elements())
      logged = logged || gpu.object().optional("memory_bytes").has_value();
    if (!logged)
      into.notes.append(loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "no column memory.used with numbers")));
    return;
  }
  ObjectReader fullest = memory->object();
  into.rows.push_back({loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "device memory, fullest GPU")),
                       CellUnit::Bytes, fullest.required("predicted").number(presets::kNotNegative),
                       fullest.required("measured").number(presets::kNotNegative), part});
}

/// A table of nccl-tests: a row for each size that stands beside its prediction.
void addLinks(ObjectReader table, MeasuredLogs& into) {
  const std::int64_t hosts = table.required("hosts").integer(presets::kCount);
  const QString collective = QString::fromStdString(table.required("collective").text());
  const QString ranks = countText(table.required("ranks").integer(presets::kCount));
  const QString part =
      hosts == 1 ? loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "nccl-tests, %1 over %2 ranks on 1 host"))
                       .arg(collective, ranks)
                 : loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "nccl-tests, %1 over %2 ranks on %3 hosts"))
                       .arg(collective, ranks, countText(hosts));
  into.titles.append(part);
  for (const ValueReader& note : table.required("notes").elements())
    into.notes.append(QString::fromStdString(note.text()));
  for (const ValueReader& element : table.required("sizes").elements()) {
    ObjectReader size = element.object();
    const auto predicted = size.optional("predicted");
    if (!predicted) continue;
    // As nccl-tests have it: powers of two in bytes, whatever units are shown elsewhere.
    into.rows.push_back({loggedText(QT_TRANSLATE_NOOP("MeasuredLogs", "%1 bytes"))
                             .arg(countText(size.required("bytes").integer(presets::kCount))),
                         CellUnit::Seconds, predicted->number(presets::kNotNegative),
                         size.required("measured").number(presets::kNotNegative), part});
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
  // Reports of older versions have none of these.
  if (const auto gpus = root.optional("gpu_logs")) {
    for (const ValueReader& log : gpus->elements()) addGpuLog(log.object(), logs);
  }
  if (const auto links = root.optional("links")) {
    for (const ValueReader& table : links->elements()) addLinks(table.object(), logs);
  }
  if (logs.rows.empty())
    throw root.error("runs", "logs, snapshots or tables beside their prediction",
                     logs.notes.isEmpty()
                         ? "say what ran: hexaplan measure import FILE --model … --cluster … --json"
                         : logs.notes.join(QStringLiteral("; ")).toStdString());
  return logs;
}

JsonDocument measureFile(const QString& path, const presets::ScenarioRequest& question) {
  cli::MeasureOptions options;
  options.question.request = question;
  options.files = {path.toStdString()};
  return {path.toStdString(), cli::measure_json(cli::run_measure(options))};
}

}  // namespace hexaplan::gui
