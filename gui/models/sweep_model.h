#pragma once
#include <optional>

#include "gui/models/column_table_model.h"
#include "planner/problem/plan.h"

namespace hexaplan::gui {

/// One cell of a sweep as a row.
struct SweepRow {
  QString first, second;  // values of the axes
  std::optional<planner::Plan> best;
  double tokens_per_step = 0;
  QString nothing;  // why there is no plan
};

/// Dollars per million tokens; nothing where the GPU has no price.
[[nodiscard]] std::optional<double> costOfTokens(const planner::Plan& plan, double tokens_per_step);

/// The best plan of each cell, or why it has none.
class SweepModel : public ColumnTableModel<SweepRow> {
  Q_OBJECT
 public:
  explicit SweepModel(QObject* parent = nullptr);
  void setSweep(const QString& first, const QString& second, std::vector<SweepRow> rows);

 protected:
  [[nodiscard]] QString title(int column) const override;

 private:
  QString axes_[2];
};

}  // namespace hexaplan::gui
