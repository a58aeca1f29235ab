#pragma once
#include <QStringList>

#include "gui/models/column_table_model.h"

namespace hexaplan::costmodel {
struct Calibration;
}

namespace hexaplan::gui {

/// One figure of a calibration.
struct CalibrationRow {
  QString part;  // "matrix products", "network", …
  QString name;
  CellUnit unit = CellUnit::Plain;
  double value = 0;
  QString origin;  // measured, borrowed, prior; empty where the file does not say
  QString meaning;
};

/// The calibration in use: what it knows of the GPU and how far measurements lie from it.
class CalibrationModel : public ColumnTableModel<CalibrationRow> {
  Q_OBJECT
 public:
  explicit CalibrationModel(QObject* parent = nullptr);
  void setCalibration(const costmodel::Calibration& calibration);

 protected:
  [[nodiscard]] CellUnit unit(int row, int column) const override;
  [[nodiscard]] QString toolTip(int row, int column) const override;
};

}  // namespace hexaplan::gui
