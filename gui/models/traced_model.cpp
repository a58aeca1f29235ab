#include "gui/models/traced_model.h"

#include <algorithm>
#include <array>

#include "gui/models/number_text.h"
#include "validator/measure/runs/compare_work.h"

namespace hexaplan::gui {
namespace {

using costmodel::WorkKind;

QVariant runs(double count) {
  return count > 0 ? QVariant(count) : QVariant();
}

constexpr std::array kTracedColumns{
    Column<TracedRow>{{QT_TRANSLATE_NOOP("Traced", "operation"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Traced", "As the operation list names it.")},
                      [](const TracedRow& r) -> QVariant { return r.operation; }},
    Column<TracedRow>{
        {QT_TRANSLATE_NOOP("Traced", "shape"), CellUnit::Text,
         QT_TRANSLATE_NOOP("Traced", "Dimensions of a product; kind, size and ranks of a message.")},
        [](const TracedRow& r) -> QVariant { return r.shape; }},
    Column<TracedRow>{
        {QT_TRANSLATE_NOOP("Traced", "predicted"), CellUnit::Seconds,
         QT_TRANSLATE_NOOP("Traced", "All of them in one step, nothing hidden behind anything else.")},
        [](const TracedRow& r) { return r.predicted > 0 ? QVariant(r.predicted) : QVariant(); }},
    Column<TracedRow>{{QT_TRANSLATE_NOOP("Traced", "measured"), CellUnit::Seconds,
                       QT_TRANSLATE_NOOP("Traced", "The same in the trace, the mean over its steps.")},
                      [](const TracedRow& r) { return r.known ? QVariant(r.measured) : QVariant(); }},
    Column<TracedRow>{{QT_TRANSLATE_NOOP("Traced", "ratio"), CellUnit::Plain,
                       QT_TRANSLATE_NOOP("Traced", "Measured over predicted: above 1, the run is slower.")},
                      [](const TracedRow& r) {
                        return r.known && r.predicted > 0 ? QVariant(r.measured / r.predicted) : QVariant();
                      }},
    Column<TracedRow>{
        {QT_TRANSLATE_NOOP("Traced", "lost"), CellUnit::Seconds,
         QT_TRANSLATE_NOOP("Traced", "Measured less predicted, per step.")},
        [](const TracedRow& r) { return r.known ? QVariant(r.measured - r.predicted) : QVariant(); }},
    Column<TracedRow>{{QT_TRANSLATE_NOOP("Traced", "of the step"), CellUnit::Percent,
                       QT_TRANSLATE_NOOP("Traced",
                                         "Measured time as a share of the measured step; what runs "
                                         "side by side adds up to more.")},
                      [](const TracedRow& r) { return r.known ? QVariant(r.of_step) : QVariant(); }},
    Column<TracedRow>{{QT_TRANSLATE_NOOP("Traced", "predicted runs"), CellUnit::Count,
                       QT_TRANSLATE_NOOP("Traced", "In one step.")},
                      [](const TracedRow& r) { return runs(r.predicted_runs); }},
    Column<TracedRow>{{QT_TRANSLATE_NOOP("Traced", "measured runs"), CellUnit::Count,
                       QT_TRANSLATE_NOOP("Traced", "In one step.")},
                      [](const TracedRow& r) { return runs(r.measured_runs); }},
    Column<TracedRow>{{QT_TRANSLATE_NOOP("Traced", "kind"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Traced", "What the device does.")},
                      [](const TracedRow& r) -> QVariant { return r.kind; }},
};

QString kindText(WorkKind kind) {
  constexpr std::array<const char*, costmodel::kWorkKinds> kNames{
      QT_TRANSLATE_NOOP("Traced", "products"), QT_TRANSLATE_NOOP("Traced", "attention"),
      QT_TRANSLATE_NOOP("Traced", "memory-bound"), QT_TRANSLATE_NOOP("Traced", "messages"),
      QT_TRANSLATE_NOOP("Traced", "copies")};
  return QCoreApplication::translate("Traced", kNames[static_cast<std::size_t>(kind)]);
}

}  // namespace

TracedModel::TracedModel(QObject* parent) : ColumnTableModel(kTracedColumns, "Traced", parent) {}

std::vector<TracedRow> tracedRows(const validator::ComparedWork& work, double measured_step) {
  std::vector<TracedRow> rows;
  const auto add = [&](TracedRow row, WorkKind kind) {
    row.kind = kindText(kind);
    row.of_step = measured_step > 0 ? row.measured / measured_step : 0;
    rows.push_back(std::move(row));
  };
  std::array<double, costmodel::kWorkKinds> predicted = work.predicted, measured = work.measured;
  for (const validator::ComparedOperation& op : work.operations) {
    const auto kind = static_cast<std::size_t>(op.kind);
    predicted[kind] -= op.predicted;
    measured[kind] -= op.measured;
    add({.operation = QString::fromStdString(op.name),
         .shape = QString::fromStdString(op.shape),
         .kind = {},
         .predicted_runs = op.predicted_runs,
         .measured_runs = op.measured_runs,
         .predicted = op.predicted,
         .measured = op.measured,
         .known = op.measured_runs > 0},
        op.kind);
  }
  // What is left has no shape to be known by.
  constexpr double kNothing = 1e-9;
  for (std::size_t i = 0; i < costmodel::kWorkKinds; ++i) {
    if (predicted[i] < kNothing && measured[i] < kNothing) continue;
    const auto kind = static_cast<WorkKind>(i);
    const bool shaped = kind == WorkKind::Gemm || kind == WorkKind::Message;
    add({.operation = shaped
                          ? QCoreApplication::translate("Traced", "%1 of unknown shape").arg(kindText(kind))
                          : kindText(kind),
         .shape = {},
         .kind = {},
         .predicted = std::max(0.0, predicted[i]),
         .measured = std::max(0.0, measured[i])},
        kind);
  }
  return rows;
}

}  // namespace hexaplan::gui
