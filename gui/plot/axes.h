#pragma once
#include <QRectF>
#include <QString>
#include <optional>

#include "gui/plot/scale.h"
#include "gui/plot/ticks.h"

class QFontMetricsF;
class QPainter;

namespace hexaplan::gui {

struct PlotTheme;

struct AxisSpec {
  ScaleKind kind = ScaleKind::Linear;
  double low = 0, high = 1;
  AxisUnit unit = AxisUnit::Plain;
  QString title;
};

/// A rectangular chart's scales and margins, wide enough for its tick labels.
struct Axes {
  QRectF plot;
  Scale x, y;
  AxisTicks x_ticks, y_ticks;
  QString x_title, y_title;  // with their units
  double left = 0;           // of the whole, tick labels included
};

/// Without `x` there is one line of room below the plot for labels that the chart writes itself; x then runs
/// over pixels.
[[nodiscard]] Axes layoutAxes(const QRectF& area, const std::optional<AxisSpec>& x, const AxisSpec& y,
                              const QFontMetricsF& metrics);
/// Grid, axis lines, labels and titles.
void drawAxes(QPainter& painter, const Axes& axes, const PlotTheme& theme);

}  // namespace hexaplan::gui
