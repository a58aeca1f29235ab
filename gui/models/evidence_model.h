#pragma once
#include "gui/models/column_table_model.h"
#include "presets/published/published_runs.h"

namespace hexaplan::gui {

/// Published runs near a question, measured and predicted, one a row.
class EvidenceModel : public ColumnTableModel<presets::PublishedRun> {
  Q_OBJECT
 public:
  explicit EvidenceModel(QObject* parent = nullptr);

 protected:
  [[nodiscard]] QString text(int row, int column) const override;
};

}  // namespace hexaplan::gui
