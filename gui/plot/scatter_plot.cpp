#include "gui/plot/scatter_plot.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gui/plot/unit_text.h"

namespace hexaplan::gui {
namespace {

constexpr double kScatterPlotMargin = 10;
constexpr double kScatterPlotRadius = 4.5;
constexpr double kColorBar = 12;  // height of the colour scale

}  // namespace

ScatterPlot::ScatterPlot(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Plans by time and memory"));
  setWhatsThis(
      tr("Every plan as a point; those that no other beats are joined. Left and right go from point to "
         "point, Enter loads one."));
}

void ScatterPlot::setPoints(ScatterData scatter) {
  data_ = std::move(scatter);
  by_x_.resize(data_.points.size());
  std::iota(by_x_.begin(), by_x_.end(), 0);
  const auto& points = data_.points;
  std::stable_sort(by_x_.begin(), by_x_.end(), [&](int a, int b) {
    return points[static_cast<std::size_t>(a)].x < points[static_cast<std::size_t>(b)].x;
  });
  color_low_ = std::numeric_limits<double>::max();
  color_high_ = std::numeric_limits<double>::lowest();
  for (const ScatterPoint& p : points) {
    color_low_ = std::min(color_low_, p.color);
    color_high_ = std::max(color_high_, p.color);
  }
  dataChanged();
}

QString ScatterPlot::valueText(double value, AxisUnit unit) const {
  return unitText(value, inBytesOf(unit, byteUnit()));
}

double ScatterPlot::colorPosition(double value) const {
  return color_high_ > color_low_ ? (value - color_low_) / (color_high_ - color_low_) : 1.0;
}

Axes ScatterPlot::axes(const QSizeF& size) const {
  double left = data_.points.front().x, right = left, top = std::max(data_.y_limit, data_.points.front().y);
  double bottom = data_.points.front().y;
  for (const ScatterPoint& p : data_.points) {
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    bottom = std::min(bottom, p.y);
    top = std::max(top, p.y);
  }
  const QFontMetricsF metrics(smallFont());
  const bool logarithmic = data_.logarithmic_x && left > 0;
  const double spread = std::max(right - left, std::abs(right) * 0.1 + 1e-12);
  const double head = data_.color_title.isEmpty() ? 0 : metrics.height() + 6;
  // Memory begins at 0: distances to the capacity line are then true to scale.
  return layoutAxes(
      QRectF(kScatterPlotMargin, kScatterPlotMargin + head, size.width() - 2 * kScatterPlotMargin,
             size.height() - 2 * kScatterPlotMargin - head),
      AxisSpec{
          .kind = logarithmic ? ScaleKind::Log : ScaleKind::Linear,
          .low = logarithmic ? left / 1.1 : std::max(left - 0.06 * spread, left > 0 ? 0.0 : left - spread),
          .high = logarithmic ? right * 1.1 : right + 0.06 * spread,
          .unit = inBytesOf(data_.x_unit, byteUnit()),
          .title = data_.x_title},
      AxisSpec{.low = std::min(0.0, bottom),
               .high = std::max(top * 1.08, 1e-12),
               .unit = inBytesOf(data_.y_unit, byteUnit()),
               .title = data_.y_title},
      metrics);
}

int ScatterPlot::itemAt(const QPointF& point) const {
  const Axes at = axes(size());
  constexpr double reach = 9;
  double nearest = reach;
  int item = -1;
  for (std::size_t i = 0; i < data_.points.size(); ++i) {
    const ScatterPoint& p = data_.points[i];
    const double distance = std::hypot(at.x.toPixel(p.x) - point.x(), at.y.toPixel(p.y) - point.y());
    if (distance < nearest) {
      nearest = distance;
      item = static_cast<int>(i);
    }
  }
  return item;
}

QRectF ScatterPlot::itemRect(int item) const {
  const Axes at = axes(size());
  const ScatterPoint& p = data_.points[static_cast<std::size_t>(item)];
  return {at.x.toPixel(p.x) - kScatterPlotRadius, at.y.toPixel(p.y) - kScatterPlotRadius,
          2 * kScatterPlotRadius, 2 * kScatterPlotRadius};
}

int ScatterPlot::neighbour(int item, int key) const {
  const int step = key == Qt::Key_Left || key == Qt::Key_Up ? -1 : 1;
  const auto found = std::find(by_x_.begin(), by_x_.end(), item);
  if (found == by_x_.end()) return step > 0 ? by_x_.front() : by_x_.back();
  const auto last = static_cast<std::ptrdiff_t>(by_x_.size()) - 1;
  const auto next = std::clamp<std::ptrdiff_t>(found - by_x_.begin() + step, 0, last);
  return by_x_[static_cast<std::size_t>(next)];
}

QString ScatterPlot::describe(int item) const {
  const ScatterPoint& p = data_.points[static_cast<std::size_t>(item)];
  QString out = p.label;
  out += tr("\n%1: %2").arg(data_.x_title, valueText(p.x, data_.x_unit));
  out += tr("\n%1: %2").arg(data_.y_title, valueText(p.y, data_.y_unit));
  if (!data_.color_title.isEmpty()) {
    out += tr("\n%1: %2").arg(data_.color_title, valueText(p.color, data_.color_unit));
  }
  if (p.on_front) out += u'\n' + tr("no other plan is better in both");
  return out;
}

QString ScatterPlot::textAlternative() const {
  QString out = tr("%n plan(s).", nullptr, itemCount());
  for (const int item : by_x_) {
    if (!data_.points[static_cast<std::size_t>(item)].on_front) continue;
    out += u'\n' + inOneLine(item);
  }
  return out;
}

void ScatterPlot::drawFront(QPainter& painter, const Axes& at, const PlotTheme& theme) const {
  QPainterPath stairs;
  for (const int item : by_x_) {
    const ScatterPoint& p = data_.points[static_cast<std::size_t>(item)];
    if (!p.on_front) continue;
    const QPointF corner(at.x.toPixel(p.x), at.y.toPixel(p.y));
    if (stairs.elementCount() == 0) {
      stairs.moveTo(corner);
    } else {
      stairs.lineTo(corner.x(), stairs.currentPosition().y());
      stairs.lineTo(corner);
    }
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.axis, 1.5));
  painter.drawPath(stairs);
}

void ScatterPlot::drawColorScale(QPainter& painter, const QRectF& box, const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  const QString low = valueText(color_low_, data_.color_unit),
                high = valueText(color_high_, data_.color_unit);
  const QString title = data_.color_title + QStringLiteral("  ");
  double x = box.right() - metrics.horizontalAdvance(high);
  painter.setPen(theme.faint);
  painter.drawText(QPointF(x, box.top() + metrics.ascent()), high);
  constexpr int bar = 80, gap = 6;
  x -= bar + gap;
  for (int i = 0; i < bar; ++i) {
    painter.fillRect(QRectF(x + i, box.top() + (metrics.height() - kColorBar) / 2, 1, kColorBar),
                     PlotTheme::sequential(i / static_cast<double>(bar - 1)));
  }
  x -= gap + metrics.horizontalAdvance(low);
  painter.drawText(QPointF(x, box.top() + metrics.ascent()), low);
  x -= metrics.horizontalAdvance(title);
  painter.drawText(QPointF(x, box.top() + metrics.ascent()), title);
}

void ScatterPlot::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const Axes at = axes(size);
  drawAxes(painter, at, theme);
  if (!data_.color_title.isEmpty() && color_high_ > color_low_) {
    drawColorScale(painter,
                   QRectF(kScatterPlotMargin, kScatterPlotMargin, size.width() - 2 * kScatterPlotMargin, 20),
                   theme);
  }
  painter.setRenderHint(QPainter::Antialiasing);
  if (data_.y_limit > 0) {
    const double y = at.y.toPixel(data_.y_limit);
    painter.setPen(QPen(theme.danger, 1.5, Qt::DashLine));
    painter.drawLine(QPointF(at.plot.left(), y), QPointF(at.plot.right(), y));
    painter.drawText(QRectF(at.plot.left(), y + 2, at.plot.width() - 4, 20), Qt::AlignRight | Qt::AlignTop,
                     data_.y_limit_name);
  }
  drawFront(painter, at, theme);
  // Points of the front above the others; the current one above all.
  for (const bool front : {false, true}) {
    for (std::size_t i = 0; i < data_.points.size(); ++i) {
      const ScatterPoint& p = data_.points[i];
      if (p.on_front != front) continue;
      const QPointF center(at.x.toPixel(p.x), at.y.toPixel(p.y));
      const QColor color = PlotTheme::sequential(colorPosition(p.color));
      painter.setPen(QPen(front ? theme.text : theme.axis, front ? 1.4 : 0.8));
      painter.setBrush(color);
      const double radius = front ? kScatterPlotRadius : kScatterPlotRadius * 0.75;
      painter.drawEllipse(center, radius, radius);
    }
  }
  painter.setBrush(Qt::NoBrush);
  for (std::size_t i = 0; i < data_.points.size(); ++i) {
    const bool current = static_cast<int>(i) == currentItem();
    if (!current && !data_.points[i].marked) continue;
    const QPointF center(at.x.toPixel(data_.points[i].x), at.y.toPixel(data_.points[i].y));
    painter.setPen(QPen(current ? theme.focus : theme.danger, 2));
    painter.drawEllipse(center, kScatterPlotRadius + 3.5, kScatterPlotRadius + 3.5);
  }
}

}  // namespace hexaplan::gui
