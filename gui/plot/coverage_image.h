#pragma once
#include <QImage>
#include <array>
#include <vector>

#include "gui/plot/timeline_geometry.h"

class QPainter;

namespace hexaplan::gui {

/// Paints lanes whose spans are too narrow to be seen one by one: every device pixel column gets the colours
/// of what covers it, mixed by their shares, and the patterns with them (Crossed, which no span has, stays
/// plain). One is made per frame and reused for all lanes.
class CoverageImage {
 public:
  CoverageImage(double width, double device_pixel_ratio, const PlotTheme& theme);
  void paint(QPainter& painter, const QRectF& box, const TimelineLane& lane, const TimeWindow& window);

 private:
  /// One colour per column, in channels so that compilers vectorise.
  struct Mix {
    std::vector<float> red, green, blue;
    /// Every column in one colour.
    void fill(const QColor& color);
  };
  /// Patterns only where they will be seen.
  void mixColumns(bool patterns);
  /// One row of device pixels; pattern lines are `thick` pixels of every `period`.
  void drawRow(QRgb* line, int y, int period, int thick) const;

  const PlotTheme& theme_;
  double ratio_;
  Coverage coverage_;
  /// Colours of each column on the ground (Solid) and under the lines of each pattern.
  std::array<std::vector<QRgb>, kPatterns> rows_;
  std::array<bool, kPatterns> patterned_{};  // whether any ink of the lane has the pattern
  Mix ground_, lined_;
};

}  // namespace hexaplan::gui
