#include "gui/plot/legend.h"

#include <QFontMetricsF>
#include <QPainter>

#include "gui/plot/fill_rect.h"

namespace hexaplan::gui {

LegendLayout layoutLegend(const std::vector<LegendEntry>& entries, const QFontMetricsF& metrics,
                          double width) {
  constexpr double swatch_width = 16, gap = 5, between = 14, leading = 4;
  const double line = metrics.height() + leading;
  LegendLayout out;
  double x = 0, y = 0;
  for (const LegendEntry& entry : entries) {
    const double text = metrics.horizontalAdvance(entry.text) + 1;
    const double needed = swatch_width + gap + text;
    if (x > 0 && x + needed > width) {
      x = 0;
      y += line;
    }
    const double swatch = std::min(12.0, metrics.height());
    out.swatches.emplace_back(x, y + (metrics.height() - swatch) / 2, swatch_width, swatch);
    out.texts.emplace_back(x + swatch_width + gap, y, text, metrics.height());
    x += needed + between;
  }
  out.height = entries.empty() ? 0 : y + line;
  return out;
}

void drawLegend(QPainter& painter, const QPointF& corner, const std::vector<LegendEntry>& entries,
                const LegendLayout& layout, const PlotTheme& theme) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    fillRect(painter, layout.swatches[i].translated(corner), entries[i].fill);
    painter.setPen(theme.faint);
    painter.drawText(layout.texts[i].translated(corner), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip,
                     entries[i].text);
  }
}

}  // namespace hexaplan::gui
