#include "gui/plot/axes.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

#include "gui/plot/plot_theme.h"

namespace hexaplan::gui {

Axes layoutAxes(const QRectF& area, const std::optional<AxisSpec>& x, const AxisSpec& y,
                const QFontMetricsF& metrics) {
  constexpr double gap = 6;
  const double line = metrics.height();
  const double top = area.top() + (y.title.isEmpty() ? line / 2 : line + gap);
  const double x_title = x && !x->title.isEmpty() ? line : 0;
  const double bottom = std::max(area.bottom() - line - gap - x_title, top + 10);
  Axes axes;
  axes.left = area.left();
  axes.y = Scale(y.kind, y.low, y.high, bottom, top);
  axes.y_ticks = placeTicks(axes.y, y.unit, std::max(2.2 * line, 24.0));
  double widest = 0;
  for (const Tick& tick : axes.y_ticks.ticks) {
    widest = std::max(widest, metrics.horizontalAdvance(tick.label));
  }
  const double left = area.left() + widest + gap;
  // Half of the last label stands out to the right.
  const double right = std::max(area.right() - (x ? metrics.horizontalAdvance(u'0') * 3 : 0), left + 10);
  axes.plot = QRectF(QPointF(left, top), QPointF(right, bottom));
  axes.y_title = withUnit(y.title, axes.y_ticks);
  if (x) {
    axes.x = Scale(x->kind, x->low, x->high, left, right);
    axes.x_ticks = placeTicks(axes.x, x->unit, metrics.horizontalAdvance(u'0') * kTickLetters);
    axes.x_title = withUnit(x->title, axes.x_ticks);
  } else {
    axes.x = Scale(ScaleKind::Linear, left, right, left, right);
  }
  return axes;
}

void drawAxes(QPainter& painter, const Axes& axes, const PlotTheme& theme) {
  const QRectF& plot = axes.plot;
  const QFontMetricsF metrics(painter.font());
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setPen(QPen(theme.grid, 1));
  for (const Tick& tick : axes.y_ticks.ticks) {
    const double y = axes.y.toPixel(tick.value);
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
  }
  for (const Tick& tick : axes.x_ticks.ticks) {
    const double x = axes.x.toPixel(tick.value);
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  }
  painter.setPen(QPen(theme.axis, 1));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setPen(theme.faint);
  for (const Tick& tick : axes.y_ticks.ticks) {
    const double y = axes.y.toPixel(tick.value);
    painter.drawText(QRectF(plot.left() - 206, y - metrics.height(), 200, 2 * metrics.height()),
                     Qt::AlignRight | Qt::AlignVCenter, tick.label);
  }
  for (const Tick& tick : axes.x_ticks.ticks) {
    const double x = axes.x.toPixel(tick.value);
    painter.drawText(QRectF(x - 100, plot.bottom() + 4, 200, metrics.height()),
                     Qt::AlignHCenter | Qt::AlignTop, tick.label);
  }
  if (!axes.y_title.isEmpty()) {
    painter.drawText(
        QRectF(axes.left, plot.top() - metrics.height() - 6, plot.right() - axes.left, metrics.height()),
        Qt::AlignLeft | Qt::AlignTop, axes.y_title);
  }
  if (!axes.x_title.isEmpty()) {
    painter.drawText(
        QRectF(plot.left(), plot.bottom() + 4 + metrics.height(), plot.width(), metrics.height()),
        Qt::AlignRight | Qt::AlignTop, axes.x_title);
  }
  painter.restore();
}

}  // namespace hexaplan::gui
