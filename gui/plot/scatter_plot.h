#pragma once
#include <vector>

#include "gui/plot/axes.h"
#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

struct ScatterPoint {
  double x = 0, y = 0;
  double color = 0;       // on ScatterData::color_title's scale
  bool on_front = false;  // no other point is better in both
  bool marked = false;    // the one in use
  QString label;          // first line of its tool-tip
};

/// What the axes and colours mean.
struct ScatterData {
  std::vector<ScatterPoint> points;
  AxisUnit x_unit = AxisUnit::Seconds, y_unit = AxisUnit::BinaryBytes, color_unit = AxisUnit::Plain;
  QString x_title, y_title, color_title;
  bool logarithmic_x = false;
  double y_limit = 0;  // a line across, such as capacity; 0: none
  QString y_limit_name;
};

/// Plans as points; those that no other beats are joined by a staircase. Item = point.
class ScatterPlot : public PlotView {
  Q_OBJECT
 public:
  explicit ScatterPlot(QWidget* parent = nullptr);

  void setPoints(ScatterData scatter);
  void clear() { setPoints({}); }
  [[nodiscard]] const ScatterData& scatter() const { return data_; }

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(data_.points.size()); }
  [[nodiscard]] QString describe(int item) const override;

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;
  [[nodiscard]] int neighbour(int item, int key) const override;

 private:
  [[nodiscard]] Axes axes(const QSizeF& size) const;
  [[nodiscard]] QString valueText(double value, AxisUnit unit) const;
  [[nodiscard]] double colorPosition(double value) const;
  void drawFront(QPainter& painter, const Axes& at, const PlotTheme& theme) const;
  void drawColorScale(QPainter& painter, const QRectF& box, const PlotTheme& theme) const;

  ScatterData data_;
  std::vector<int> by_x_;  // item indices from left to right: the order of the arrow keys
  double color_low_ = 0, color_high_ = 0;
};

}  // namespace hexaplan::gui
