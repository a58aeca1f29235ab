#include "gui/plot/residual_plot.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/plot/unit_text.h"

namespace hexaplan::gui {
namespace {

constexpr double kResidualPlotMargin = 10;
constexpr double kResidualPlotRadius = 4;

struct Mark {
  Ink ink;
  int corners;  // 0: circle
};
/// Colour and shape of a group; they repeat after eight.
constexpr std::array<Mark, 8> kMarks{{{Ink::Parameters, 0},
                                      {Ink::Activations, 3},
                                      {Ink::OptimizerState, 4},
                                      {Ink::Transient, 5},
                                      {Ink::Gradients, 6},
                                      {Ink::OptimizerStep, 3},
                                      {Ink::CommunicationBuffers, 4},
                                      {Ink::Overhead, 0}}};

const Mark& markOf(int group) {
  return kMarks[static_cast<std::size_t>(group) % kMarks.size()];
}

QPainterPath shape(const QPointF& center, int corners, double radius) {
  QPainterPath path;
  if (corners == 0) {
    path.addEllipse(center, radius, radius);
    return path;
  }
  for (int i = 0; i <= corners; ++i) {
    const double angle = 2 * M_PI * i / corners - M_PI / 2;
    const QPointF corner = center + 1.25 * radius * QPointF(std::cos(angle), std::sin(angle));
    if (i == 0) {
      path.moveTo(corner);
    } else {
      path.lineTo(corner);
    }
  }
  return path;
}

double absoluteError(const ResidualPoint& p) {
  return std::abs(p.predicted / p.measured - 1);
}

}  // namespace

ResidualPlot::ResidualPlot(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Predicted against measured"));
  setWhatsThis(
      tr("Each point is a prediction over its measurement; on the diagonal they agree. Left and right go "
         "through the points, the worst first."));
}

void ResidualPlot::setResiduals(ResidualData residuals) {
  data_ = std::move(residuals);
  std::erase_if(data_.points, [](const ResidualPoint& p) { return !(p.predicted > 0 && p.measured > 0); });
  std::stable_sort(data_.points.begin(), data_.points.end(),
                   [](const auto& a, const auto& b) { return absoluteError(a) > absoluteError(b); });
  dataChanged();
}

QString ResidualPlot::valueText(double value) const {
  return unitText(value, inBytesOf(data_.unit, byteUnit()));
}

QString ResidualPlot::describe(int item) const {
  const ResidualPoint& p = data_.points[static_cast<std::size_t>(item)];
  QString out = p.label;
  if (static_cast<std::size_t>(p.group) < data_.groups.size()) {
    out += u'\n' + data_.groups[static_cast<std::size_t>(p.group)];
  }
  return out + tr("\npredicted %1, measured %2 (%3)")
                   .arg(valueText(p.predicted), valueText(p.measured), changeText(p.measured, p.predicted));
}

QString ResidualPlot::textAlternative() const {
  const auto inside = std::count_if(data_.points.begin(), data_.points.end(),
                                    [&](const ResidualPoint& p) { return absoluteError(p) <= data_.band; });
  QString out = tr("%n prediction(s) beside their measurements, %1 of them within %2.", nullptr, itemCount())
                    .arg(inside)
                    .arg(percentText(data_.band));
  constexpr int worst = 5;
  for (int i = 0; i < std::min(itemCount(), worst); ++i) out += u'\n' + inOneLine(i);
  return out;
}

Axes ResidualPlot::axes(const QSizeF& size) const {
  double low = data_.points.front().measured, high = low;
  for (const ResidualPoint& p : data_.points) {
    low = std::min({low, p.predicted, p.measured});
    high = std::max({high, p.predicted, p.measured});
  }
  const QFontMetricsF metrics(smallFont());
  const double head = data_.groups.empty() ? 0 : metrics.height() + 6;
  const AxisUnit unit = inBytesOf(data_.unit, byteUnit());
  return layoutAxes(
      QRectF(kResidualPlotMargin, kResidualPlotMargin + head, size.width() - 2 * kResidualPlotMargin,
             size.height() - 2 * kResidualPlotMargin - head),
      AxisSpec{ScaleKind::Log, low / 1.3, high * 1.3, unit, tr("measured")},
      AxisSpec{ScaleKind::Log, low / 1.3, high * 1.3, unit, tr("predicted")}, metrics);
}

int ResidualPlot::itemAt(const QPointF& point) const {
  const Axes at = axes(size());
  for (std::size_t i = 0; i < data_.points.size(); ++i) {
    const QPointF center(at.x.toPixel(data_.points[i].measured), at.y.toPixel(data_.points[i].predicted));
    constexpr double reach = 7;
    if (std::hypot(center.x() - point.x(), center.y() - point.y()) < reach) return static_cast<int>(i);
  }
  return -1;
}

QRectF ResidualPlot::itemRect(int item) const {
  const Axes at = axes(size());
  const ResidualPoint& p = data_.points[static_cast<std::size_t>(item)];
  return {at.x.toPixel(p.measured) - kResidualPlotRadius, at.y.toPixel(p.predicted) - kResidualPlotRadius,
          2 * kResidualPlotRadius, 2 * kResidualPlotRadius};
}

void ResidualPlot::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const Axes at = axes(size);
  drawAxes(painter, at, theme);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.save();
  painter.setClipRect(at.plot);
  const double low = at.x.low(), high = at.x.high();
  const auto line = [&](double factor) {
    return QLineF(at.x.toPixel(low), at.y.toPixel(low * factor), at.x.toPixel(high),
                  at.y.toPixel(high * factor));
  };
  painter.setPen(QPen(theme.axis, 1, Qt::DashLine));
  painter.drawLine(line(1 + data_.band));
  painter.drawLine(line(1 - data_.band));
  painter.setPen(QPen(theme.text, 1.4));
  painter.drawLine(line(1));
  // The worst last, so that they are seen.
  for (auto p = data_.points.rbegin(); p != data_.points.rend(); ++p) {
    const Mark& mark = markOf(p->group);
    painter.setBrush(theme.of(mark.ink).color);
    painter.setPen(QPen(theme.background, 0.8));
    painter.drawPath(
        shape({at.x.toPixel(p->measured), at.y.toPixel(p->predicted)}, mark.corners, kResidualPlotRadius));
  }
  painter.restore();
  drawGroups(painter, size.width(), theme);
  if (currentItem() >= 0) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.focus, 2));
    painter.drawEllipse(itemRect(currentItem()).center(), kResidualPlotRadius + 4, kResidualPlotRadius + 4);
  }
}

void ResidualPlot::drawGroups(QPainter& painter, double width, const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  double x = kResidualPlotMargin;
  for (std::size_t g = 0; g < data_.groups.size(); ++g) {
    const double needed = 14 + metrics.horizontalAdvance(data_.groups[g]) + 14;
    if (x + needed > width - kResidualPlotMargin) {
      painter.setPen(theme.faint);
      painter.drawText(QPointF(x, kResidualPlotMargin + metrics.ascent()), QStringLiteral("…"));
      return;
    }
    const Mark& mark = markOf(static_cast<int>(g));
    painter.setBrush(theme.of(mark.ink).color);
    painter.setPen(Qt::NoPen);
    painter.drawPath(
        shape({x + 5, kResidualPlotMargin + metrics.height() / 2}, mark.corners, kResidualPlotRadius));
    painter.setPen(theme.faint);
    painter.drawText(QPointF(x + 14, kResidualPlotMargin + metrics.ascent()), data_.groups[g]);
    x += needed;
  }
}

}  // namespace hexaplan::gui
