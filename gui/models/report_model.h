#pragma once
#include <optional>

#include "gui/models/column_table_model.h"

namespace hexaplan::costmodel {
struct Estimate;
struct Scenario;
}  // namespace hexaplan::costmodel
namespace hexaplan::validator {
struct ExecutionReport;
struct ComparedCase;
struct ValidatedScenario;
}  // namespace hexaplan::validator

namespace hexaplan::gui {

/// One term as it was predicted and as it was measured, base units.
struct ReportRow {
  QString term;
  CellUnit unit = CellUnit::Bytes;
  double predicted = 0;
  std::optional<double> measured;
  QString part;  // what it is a term of
};

/// Predicted beside measured, term by term, with the error of the prediction.
class ReportModel : public ColumnTableModel<ReportRow> {
  Q_OBJECT
 public:
  explicit ReportModel(QObject* parent = nullptr);

 protected:
  [[nodiscard]] CellUnit unit(int row, int column) const override;
  [[nodiscard]] QString text(int row, int column) const override;
};

/// Terms of a run on the executor: memory by kind of the rank that held most, and the median step time.
/// Precondition: the scenario and its estimate are of the layout that ran.
[[nodiscard]] std::vector<ReportRow> reportRows(const costmodel::Scenario& scenario,
                                                const costmodel::Estimate& predicted,
                                                const validator::ExecutionReport& measured);
/// Terms of a published measurement: step time and memory figures.
[[nodiscard]] std::vector<ReportRow> reportRows(const validator::ComparedCase& row);
/// A validated scenario as a whole: its step and its memory, as far as they were compared.
[[nodiscard]] std::vector<ReportRow> totalRows(const validator::ValidatedScenario& scenario);
/// The same, and every term of the ranks that the report looks into.
[[nodiscard]] std::vector<ReportRow> reportRows(const validator::ValidatedScenario& scenario);

}  // namespace hexaplan::gui
