#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

/// What one change brings.
struct Shift {
  QString change;               // "100 Gbit/s more per node"
  std::optional<double> share;  // by which the figure grows; nothing: it cannot be had
  QString result;               // behind the bar: "the same plan"
  QString words;                // further lines of its tool-tip
};

/// Changes one below the other, each with a bar to the right for more and to the left for less. Item =
/// change.
class ShiftBars : public PlotView {
  Q_OBJECT
 public:
  explicit ShiftBars(QWidget* parent = nullptr);

  /// `figure`: what grows, "tokens per second".
  void setShifts(const QString& figure, std::vector<Shift> shifts);

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(shifts_.size()); }
  [[nodiscard]] QString describe(int item) const override;

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;

 private:
  struct Layout {
    double labels = 0, results = 0;  // widths of the words at the sides
    double left = 0, right = 0;      // of the bars
    double zero = 0, scale = 0;      // place of no change, pixels per share
    double row = 0;
  };
  [[nodiscard]] Layout layout(const QSizeF& size) const;
  [[nodiscard]] QString number(const Shift& shift) const;

  QString figure_;
  std::vector<Shift> shifts_;
};

}  // namespace hexaplan::gui
