#pragma once
#include <vector>

#include "gui/models/figures.h"
#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

/// Figures below one another: name, number, and its change against a baseline. Item = figure.
class FigureList : public PlotView {
  Q_OBJECT
 public:
  explicit FigureList(QWidget* parent = nullptr);

  /// Figures without a value are left out. Precondition: `baseline` is empty or has the same figures.
  void setFigures(const std::vector<Figure>& figures, const std::vector<Figure>& baseline);

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(rows_.size()); }
  [[nodiscard]] QString describe(int item) const override;
  /// As wide as its widest row, within limits.
  [[nodiscard]] QSize sizeHint() const override;
  /// The same, as low as its rows can be read: it stands in a scroll area.
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;

 private:
  struct Row {
    QString name, meaning, value, change;
  };
  [[nodiscard]] double rowHeight(double height) const;
  /// Width of the column of changes and the gap before it; 0 without a baseline.
  [[nodiscard]] double changesWidth() const;

  std::vector<Row> rows_;
};

}  // namespace hexaplan::gui
