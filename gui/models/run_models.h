#pragma once
#include "gui/models/column_table_model.h"
#include "validator/executor/report/run_summary.h"

namespace hexaplan::gui {

// What an executed run says beside its memory and step time: one table each.

class PhaseModel : public ColumnTableModel<validator::PhaseSummary> {
  Q_OBJECT
 public:
  explicit PhaseModel(QObject* parent = nullptr);
};

class TrafficModel : public ColumnTableModel<validator::TrafficSummary> {
  Q_OBJECT
 public:
  explicit TrafficModel(QObject* parent = nullptr);
};

class OperationModel : public ColumnTableModel<validator::OperationReport> {
  Q_OBJECT
 public:
  explicit OperationModel(QObject* parent = nullptr);
};

}  // namespace hexaplan::gui
