#pragma once
#include <vector>

#include "gui/plot/axes.h"
#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

/// One prediction beside its measurement, both positive.
struct ResidualPoint {
  double predicted = 0, measured = 0;
  int group = 0;  // index into ResidualData::groups
  QString label;
};
struct ResidualData {
  std::vector<ResidualPoint> points;
  std::vector<QString> groups;  // sources or terms; shown by colour and shape
  AxisUnit unit = AxisUnit::Seconds;
  double band = 0.1;  // relative error of the band beside the diagonal
};

/// Predicted over measured, both logarithmic: what is right lies on the diagonal. Item = point, the worst
/// first.
class ResidualPlot : public PlotView {
  Q_OBJECT
 public:
  explicit ResidualPlot(QWidget* parent = nullptr);

  void setResiduals(ResidualData residuals);
  void clear() { setResiduals({}); }

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(data_.points.size()); }
  [[nodiscard]] QString describe(int item) const override;

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;

 private:
  [[nodiscard]] Axes axes(const QSizeF& size) const;
  [[nodiscard]] QString valueText(double value) const;
  void drawGroups(QPainter& painter, double width, const PlotTheme& theme) const;

  ResidualData data_;
};

}  // namespace hexaplan::gui
