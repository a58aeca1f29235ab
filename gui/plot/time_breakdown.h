#pragma once
#include <array>
#include <optional>
#include <vector>

#include "costmodel/step/estimate.h"
#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

/// Where a step's time goes: one bar with every cause, and below it a row per cause that begins where the one
/// before ended, with its share and, against a baseline, its difference. Item = row; the first is the total.
class TimeBreakdown : public PlotView {
  Q_OBJECT
 public:
  explicit TimeBreakdown(QWidget* parent = nullptr);

  /// `interval`: seconds, of the whole step; high 0: none.
  void setTime(const costmodel::StepTime& time, const costmodel::Interval& interval = {});
  void setBaseline(const std::optional<costmodel::StepTime>& baseline);
  void clear();

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(rows_.size()); }
  [[nodiscard]] QString describe(int item) const override;
  /// Rows as high as their letters.
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;

 private:
  struct Row {
    int term = -1;  // index into timeTerms(); -1: the total
    double begin = 0, seconds = 0, baseline = 0;
  };
  struct Layout {
    double labels = 0;                // width of the names
    std::array<double, 3> numbers{};  // widths of the columns beside the bars
    double row_height = 0, bar_height = 0;
    double left = 0, right = 0;  // of the bars
    double longest = 1;          // seconds at `right`
  };
  [[nodiscard]] Layout layout(const QSizeF& size) const;
  [[nodiscard]] QString label(const Row& row) const;
  /// Time, share, difference from the baseline: what there is of it.
  [[nodiscard]] std::array<QString, 3> numbers(const Row& row) const;
  void drawTotal(QPainter& painter, const Layout& at, const QRectF& bar, const PlotTheme& theme) const;
  void rebuild();

  std::optional<costmodel::StepTime> time_, baseline_;
  costmodel::Interval interval_;
  std::vector<Row> rows_;
};

}  // namespace hexaplan::gui
