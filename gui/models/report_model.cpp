#include "gui/models/report_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "costmodel/step/estimate.h"
#include "gui/models/terms.h"
#include "validator/executor/report/execution_report.h"
#include "validator/measure/accuracy/score.h"
#include "validator/measure/compare/terms.h"

namespace hexaplan::gui {
namespace {

constexpr int kDifference = 4, kError = 5;
constexpr std::array kReportColumns{
    Column<ReportRow>{{QT_TRANSLATE_NOOP("Report", "part"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Report", "Scenario, or kind of figure.")},
                      [](const ReportRow& r) -> QVariant { return r.part; }},
    Column<ReportRow>{{QT_TRANSLATE_NOOP("Report", "term"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Report", "What was predicted and measured.")},
                      [](const ReportRow& r) -> QVariant { return r.term; }},
    Column<ReportRow>{{QT_TRANSLATE_NOOP("Report", "predicted"), CellUnit::Plain,
                       QT_TRANSLATE_NOOP("Report", "By the cost model.")},
                      [](const ReportRow& r) -> QVariant { return r.predicted; }},
    Column<ReportRow>{{QT_TRANSLATE_NOOP("Report", "measured"), CellUnit::Plain,
                       QT_TRANSLATE_NOOP("Report", "In the run; empty: not measured.")},
                      [](const ReportRow& r) { return r.measured ? QVariant(*r.measured) : QVariant(); }},
    Column<ReportRow>{
        {QT_TRANSLATE_NOOP("Report", "difference"), CellUnit::Plain,
         QT_TRANSLATE_NOOP("Report", "Predicted minus measured.")},
        [](const ReportRow& r) { return r.measured ? QVariant(r.predicted - *r.measured) : QVariant(); }},
    Column<ReportRow>{{QT_TRANSLATE_NOOP("Report", "error"), CellUnit::Percent,
                       QT_TRANSLATE_NOOP("Report", "Predicted over measured, minus 1.")},
                      [](const ReportRow& r) {
                        return r.measured && *r.measured != 0 ? QVariant(r.predicted / *r.measured - 1)
                                                              : QVariant();
                      }},
};

}  // namespace

ReportModel::ReportModel(QObject* parent) : ColumnTableModel(kReportColumns, "Report", parent) {}

CellUnit ReportModel::unit(int index, int column) const {
  const CellUnit head = ColumnTableModel::unit(index, column);
  return head == CellUnit::Plain ? row(index).unit : head;
}

QString ReportModel::text(int index, int column) const {
  const QVariant bare = value(index, column);
  if ((column != kDifference && column != kError) || !bare.isValid()) return TableModel::text(index, column);
  return signedText(bare.toDouble(), cellText(std::abs(bare.toDouble()), unit(index, column), byteUnit()));
}

std::vector<ReportRow> reportRows(const costmodel::Scenario& scenario, const costmodel::Estimate& predicted,
                                  const validator::ExecutionReport& measured) {
  const QString time = ReportModel::tr("time"), memory = ReportModel::tr("memory");
  std::vector<ReportRow> rows;
  if (!measured.steps.empty()) {
    rows.push_back({ReportModel::tr("one step"), CellUnit::Seconds, predicted.time.total().value(),
                    validator::median_step_time(measured.steps).value(), time});
  }
  const auto fullest = std::max_element(
      measured.ranks.begin(), measured.ranks.end(),
      [](const auto& a, const auto& b) { return a.memory.peak_bytes < b.memory.peak_bytes; });
  if (fullest == measured.ranks.end()) return rows;
  if (static_cast<std::size_t>(fullest->stage) >= predicted.stages.size()) return rows;
  const costmodel::MemoryBreakdown kinds = validator::predicted_memory(scenario, fullest->stage);
  rows.push_back({ReportModel::tr("allocated, rank %1").arg(fullest->rank), CellUnit::Bytes,
                  kinds.total().value(), static_cast<double>(fullest->memory.peak_bytes), memory});
  for (const MemoryTerm& term : memoryTerms()) {
    const auto kind = static_cast<std::size_t>(term.kind);
    const auto bytes = static_cast<double>(fullest->memory.peak_by_kind[kind]);
    const double expected = kinds.of(term.kind).value();
    if (bytes > 0 || expected > 0)
      rows.push_back({labelOf(term.kind), CellUnit::Bytes, expected, bytes, memory});
  }
  return rows;
}

std::vector<ReportRow> reportRows(const validator::ComparedCase& row) {
  std::vector<ReportRow> rows;
  if (row.time) {
    rows.push_back({ReportModel::tr("one step"), CellUnit::Seconds, row.time->predicted, row.time->measured,
                    ReportModel::tr("time")});
  }
  const std::array names{ReportModel::tr("memory allocated"), ReportModel::tr("memory reserved"),
                         ReportModel::tr("memory on the device")};
  for (const validator::ComparedMemory& memory : row.memory) {
    rows.push_back({names[static_cast<std::size_t>(memory.kind)], CellUnit::Bytes, memory.predicted,
                    memory.measured, ReportModel::tr("memory")});
  }
  return rows;
}

std::vector<ReportRow> totalRows(const validator::ValidatedScenario& scenario) {
  const QString name = QString::fromStdString(scenario.name);
  std::vector<ReportRow> rows;
  if (scenario.step) {
    rows.push_back({ReportModel::tr("one step"), CellUnit::Seconds, scenario.step->predicted,
                    scenario.step->measured, name});
  }
  if (scenario.memory) {
    rows.push_back({ReportModel::tr("memory allocated"), CellUnit::Bytes, scenario.memory->predicted,
                    scenario.memory->measured, name});
  }
  return rows;
}

std::vector<ReportRow> reportRows(const validator::ValidatedScenario& scenario) {
  const std::array<QString, validator::kTermGroups> groups{ReportModel::tr("phase"), ReportModel::tr("work"),
                                                           ReportModel::tr("messages"),
                                                           ReportModel::tr("memory")};
  std::vector<ReportRow> rows = totalRows(scenario);
  for (ReportRow& row : rows) row.part = ReportModel::tr("all ranks");
  for (const validator::ComparedRank& rank : scenario.ranks) {
    for (const validator::ComparedTerm& term : rank.terms) {
      const QString& part = groups[static_cast<std::size_t>(term.group)];
      rows.push_back(
          {labelOfName(term.name),
           term.group == validator::TermGroup::Memory ? CellUnit::Bytes : CellUnit::Seconds, term.predicted,
           term.measured > 0 ? std::optional{term.measured} : std::nullopt,
           scenario.ranks.size() > 1 ? ReportModel::tr("%1, rank %2").arg(part).arg(rank.rank) : part});
    }
  }
  return rows;
}

}  // namespace hexaplan::gui
