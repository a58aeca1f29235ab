#include "gui/models/evidence_model.h"

#include <array>
#include <cmath>

#include "gui/models/number_text.h"

namespace hexaplan::gui {
namespace {

using Published = presets::PublishedRun;
constexpr int kErrorColumn = 8;

constexpr std::array kEvidenceColumns{
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "model"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Evidence", "That was trained.")},
                      [](const Published& r) -> QVariant { return QString::fromStdString(r.model); }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "GPUs"), CellUnit::Count,
                       QT_TRANSLATE_NOOP("Evidence", "That ran it.")},
                      [](const Published& r) -> QVariant { return static_cast<double>(r.gpus); }},
    Column<Published>{
        {QT_TRANSLATE_NOOP("Evidence", "GPU"), CellUnit::Text, QT_TRANSLATE_NOOP("Evidence", "Their type.")},
        [](const Published& r) -> QVariant { return QString::fromStdString(r.gpu); }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "framework"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Evidence", "Its profile.")},
                      [](const Published& r) -> QVariant { return QString::fromStdString(r.framework); }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "layout"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Evidence", "As it was published.")},
                      [](const Published& r) -> QVariant { return QString::fromStdString(r.layout); }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "tokens/s/GPU"), CellUnit::Plain,
                       QT_TRANSLATE_NOOP("Evidence", "Measured.")},
                      [](const Published& r) -> QVariant { return r.tokens_per_second_per_gpu; }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "measured"), CellUnit::Seconds,
                       QT_TRANSLATE_NOOP("Evidence", "One step.")},
                      [](const Published& r) -> QVariant { return r.measured.value(); }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "predicted"), CellUnit::Seconds,
                       QT_TRANSLATE_NOOP("Evidence", "The same step, by the presets' curves.")},
                      [](const Published& r) -> QVariant { return r.predicted.value(); }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "error"), CellUnit::Percent,
                       QT_TRANSLATE_NOOP("Evidence", "Predicted over measured, minus 1.")},
                      [](const Published& r) -> QVariant { return r.error(); }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "distance"), CellUnit::Plain,
                       QT_TRANSLATE_NOOP("Evidence", "From the question: 0 is the same run.")},
                      [](const Published& r) -> QVariant { return r.distance; }},
    Column<Published>{{QT_TRANSLATE_NOOP("Evidence", "source"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Evidence", "Who published it.")},
                      [](const Published& r) -> QVariant { return QString::fromStdString(r.source); }},
};

}  // namespace

EvidenceModel::EvidenceModel(QObject* parent) : ColumnTableModel(kEvidenceColumns, "Evidence", parent) {}

QString EvidenceModel::text(int index, int column) const {
  const QVariant bare = value(index, column);
  if (column != kErrorColumn) return TableModel::text(index, column);
  return signedText(bare.toDouble(), cellText(std::abs(bare.toDouble()), unit(index, column), byteUnit()));
}

}  // namespace hexaplan::gui
