#pragma once
#include <vector>

#include "gui/plot/axes.h"
#include "gui/plot/plot_view.h"
#include "gui/plot/timeline_geometry.h"

namespace hexaplan::gui {

/// Live memory of one stage from `at` on.
struct MemorySample {
  double at = 0;           // seconds
  double activations = 0;  // bytes kept for backward
  double others = 0;       // bytes of parameters, gradients, states, working sets
};

struct MemoryCurveData {
  QString stage;                      // "stage 3"
  std::vector<MemorySample> samples;  // ascending; each holds until the next
  double outside = 0;                 // bytes beside the tensors: slack, communicators, context
  double end = 0;                     // seconds
  double usable = 0, device = 0;      // bytes; 0: unknown
};

/// Memory over the time of a step: activations upon everything else upon what lies outside the allocator. The
/// time axis and the cursor are linked with the Timeline's.
class MemoryCurve : public PlotView {
  Q_OBJECT
 public:
  explicit MemoryCurve(QWidget* parent = nullptr);

  void setCurve(MemoryCurveData curve);
  void clear() { setCurve({}); }
  void setWindow(double low_seconds, double high_seconds);
  void setCursorTime(double seconds);
  /// As Timeline::plotLeft, plotRight, setLeastLeft.
  [[nodiscard]] double plotLeft() const { return axes(size()).plot.left(); }
  [[nodiscard]] double plotRight() const { return axes(size()).plot.right(); }
  void setLeastLeft(double pixels);

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(data_.samples.size()); }
  /// Room for a curve between legend and axis.
  [[nodiscard]] QSize minimumSizeHint() const override;
  [[nodiscard]] QString describe(int item) const override;

 signals:
  void cursorTimeChanged(double seconds);

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  void drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] bool marksItemOnTop() const override { return true; }
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  [[nodiscard]] Axes axes(const QSizeF& size) const;
  [[nodiscard]] std::size_t sampleAt(double seconds) const;
  void drawAreas(QPainter& painter, const Axes& at, const PlotTheme& theme) const;
  void drawLimits(QPainter& painter, const Axes& at, const PlotTheme& theme) const;

  MemoryCurveData data_;
  TimeWindow window_;
  double cursor_ = -1;
  double least_left_ = 0;  // pixels
};

}  // namespace hexaplan::gui
