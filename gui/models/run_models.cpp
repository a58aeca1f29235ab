#include "gui/models/run_models.h"

#include <array>

#include "gui/models/number_text.h"

namespace hexaplan::gui {
namespace {

using Phase = validator::PhaseSummary;
constexpr std::array kPhaseColumns{
    Column<Phase>{
        {QT_TRANSLATE_NOOP("Run", "phase"), CellUnit::Text, QT_TRANSLATE_NOOP("Run", "What a rank did.")},
        [](const Phase& p) -> QVariant { return utf8Text(validator::name_of(p.phase)); }},
    Column<Phase>{{QT_TRANSLATE_NOOP("Run", "mean"), CellUnit::Seconds,
                   QT_TRANSLATE_NOOP("Run", "Over ranks, all steps together.")},
                  [](const Phase& p) -> QVariant { return p.mean.value(); }},
    Column<Phase>{{QT_TRANSLATE_NOOP("Run", "slowest rank"), CellUnit::Seconds,
                   QT_TRANSLATE_NOOP("Run", "All steps together.")},
                  [](const Phase& p) -> QVariant { return p.slowest.value(); }},
    Column<Phase>{{QT_TRANSLATE_NOOP("Run", "share"), CellUnit::Percent,
                   QT_TRANSLATE_NOOP("Run", "Of the mean over all phases.")},
                  [](const Phase& p) -> QVariant { return p.share; }},
};

using Traffic = validator::TrafficSummary;
constexpr std::array kTrafficColumns{
    Column<Traffic>{{QT_TRANSLATE_NOOP("Run", "collective"), CellUnit::Text,
                     QT_TRANSLATE_NOOP("Run", "What was called.")},
                    [](const Traffic& t) -> QVariant { return utf8Text(validator::name_of(t.kind)); }},
    Column<Traffic>{{QT_TRANSLATE_NOOP("Run", "group"), CellUnit::Text,
                     QT_TRANSLATE_NOOP("Run", "Ranks that took part.")},
                    [](const Traffic& t) -> QVariant { return utf8Text(costmodel::name_of(t.group)); }},
    Column<Traffic>{{QT_TRANSLATE_NOOP("Run", "messages"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Run", "Of the busiest rank, all steps.")},
                    [](const Traffic& t) -> QVariant { return static_cast<double>(t.busiest.messages); }},
    Column<Traffic>{{QT_TRANSLATE_NOOP("Run", "bytes"), CellUnit::Bytes,
                     QT_TRANSLATE_NOOP("Run", "Of the full tensors; busiest rank, all steps.")},
                    [](const Traffic& t) -> QVariant { return t.busiest.bytes.value(); }},
    Column<Traffic>{{QT_TRANSLATE_NOOP("Run", "time"), CellUnit::Seconds,
                     QT_TRANSLATE_NOOP("Run", "Inside the calls, waiting for others included.")},
                    [](const Traffic& t) -> QVariant { return t.busiest.time.value(); }},
};

using Operation = validator::OperationReport;
constexpr std::array kOperationColumns{
    Column<Operation>{
        {QT_TRANSLATE_NOOP("Run", "operation"), CellUnit::Text,
         QT_TRANSLATE_NOOP("Run", "Matrix products and attention, as the operation list names them.")},
        [](const Operation& o) -> QVariant { return QString::fromStdString(o.name); }},
    Column<Operation>{{QT_TRANSLATE_NOOP("Run", "TFLOPs"), CellUnit::Plain,
                       QT_TRANSLATE_NOOP("Run", "10¹² operations, all ranks and timed steps.")},
                      [](const Operation& o) -> QVariant { return o.timed_flops.value() / 1e12; }},
    Column<Operation>{{QT_TRANSLATE_NOOP("Run", "time"), CellUnit::Seconds,
                       QT_TRANSLATE_NOOP("Run", "All ranks and timed steps.")},
                      [](const Operation& o) -> QVariant { return o.time.value(); }},
    Column<Operation>{
        {QT_TRANSLATE_NOOP("Run", "TFLOP/s"), CellUnit::Plain, QT_TRANSLATE_NOOP("Run", "Rate of one rank.")},
        [](const Operation& o) {
          return o.time.value() > 0 ? QVariant(o.timed_flops.value() / o.time.value() / 1e12) : QVariant();
        }},
};

}  // namespace

PhaseModel::PhaseModel(QObject* parent) : ColumnTableModel(kPhaseColumns, "Run", parent) {}
TrafficModel::TrafficModel(QObject* parent) : ColumnTableModel(kTrafficColumns, "Run", parent) {}
OperationModel::OperationModel(QObject* parent) : ColumnTableModel(kOperationColumns, "Run", parent) {}

}  // namespace hexaplan::gui
