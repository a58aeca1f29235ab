#pragma once
#include "gui/models/column_table_model.h"

namespace hexaplan::validator {
struct ComparedWork;
}

namespace hexaplan::gui {

/// Operations of a prediction beside what a trace has of them. Seconds per step.
struct TracedRow {
  QString operation;  // of the prediction; empty: it has none
  QString shape;
  QString kind;
  double predicted_runs = 0, measured_runs = 0;  // 0: this side has none, or does not count them
  double predicted = 0, measured = 0;
  bool known = true;   // the trace has it
  double of_step = 0;  // measured, as a share of the measured step
};

class TracedModel : public ColumnTableModel<TracedRow> {
  Q_OBJECT
 public:
  explicit TracedModel(QObject* parent = nullptr);
};

/// Products and messages by their shapes, and of what has no shape the sums: everything that runs.
[[nodiscard]] std::vector<TracedRow> tracedRows(const validator::ComparedWork& work, double measured_step);

}  // namespace hexaplan::gui
