#pragma once
#include <optional>
#include <vector>

#include "gui/models/cell.h"
#include "gui/plot/legend.h"
#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

struct HeatMapCell {
  std::optional<double> value;  // nothing: hatched
  QString words;                // what lies there, or why nothing does: for tool-tips and screen readers
};

/// What the Heat map shows: the first row of cells is drawn at the top.
struct HeatMapData {
  QString row_title, column_title, value_title;
  QStringList rows, columns;
  std::vector<HeatMapCell> cells;  // row by row
  CellUnit unit = CellUnit::Plain;
  QString nothing;  // what hatched cells are called in the legend
};

/// A value over two axes as colour, with the number in every cell that has room for it. Arrows go from cell
/// to cell; Enter or a click activates one. Item = cell.
class HeatMap : public PlotView {
  Q_OBJECT
 public:
  explicit HeatMap(QWidget* parent = nullptr);

  void setCells(HeatMapData data);
  [[nodiscard]] const HeatMapData& cells() const { return data_; }

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(data_.cells.size()); }
  [[nodiscard]] QString describe(int item) const override;

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  void drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] bool marksItemOnTop() const override { return true; }
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;
  [[nodiscard]] int neighbour(int item, int key) const override;

 private:
  [[nodiscard]] QRectF plotOf(const QSizeF& size) const;
  [[nodiscard]] QRectF cellRect(const QRectF& plot, int item) const;
  [[nodiscard]] QString valueText(double value) const { return cellText(value, data_.unit, byteUnit()); }
  [[nodiscard]] QColor colorOf(double value) const;
  void drawScale(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const;
  void drawNames(QPainter& painter, const QRectF& plot, const PlotTheme& theme) const;
  void drawCell(QPainter& painter, const QRectF& box, const HeatMapCell& cell, const PlotTheme& theme) const;

  HeatMapData data_;
  double low_ = 0, high_ = 0;
};

}  // namespace hexaplan::gui
