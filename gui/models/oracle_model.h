#pragma once
#include "gui/models/column_table_model.h"
#include "report/oracle_lines.h"

namespace hexaplan::gui {

/// A framework's own step beside its prediction, in the order of the report: heads, numbers, tensors.
class OracleModel : public ColumnTableModel<report::OracleLine> {
  Q_OBJECT
 public:
  explicit OracleModel(QObject* parent = nullptr);
};

}  // namespace hexaplan::gui
