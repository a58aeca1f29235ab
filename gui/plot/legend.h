#pragma once
#include <QRectF>
#include <QString>
#include <vector>

#include "gui/plot/plot_theme.h"

class QFontMetricsF;
class QPainter;

namespace hexaplan::gui {

struct LegendEntry {
  Fill fill;
  QString text;
};

/// Where the entries of a legend lie: rows from left to right that break at `width`.
struct LegendLayout {
  std::vector<QRectF> swatches, texts;  // by entry; relative to the legend's top left corner
  double height = 0;
};
[[nodiscard]] LegendLayout layoutLegend(const std::vector<LegendEntry>& entries, const QFontMetricsF& metrics,
                                        double width);
void drawLegend(QPainter& painter, const QPointF& corner, const std::vector<LegendEntry>& entries,
                const LegendLayout& layout, const PlotTheme& theme);

}  // namespace hexaplan::gui
