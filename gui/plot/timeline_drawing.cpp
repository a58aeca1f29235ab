// How the timeline is painted.
#include <QFontMetricsF>
#include <QPainter>
#include <QPolygonF>
#include <QScrollBar>
#include <algorithm>
#include <optional>

#include "gui/plot/coverage_image.h"
#include "gui/plot/fill_rect.h"
#include "gui/plot/ticks.h"
#include "gui/plot/timeline.h"

namespace hexaplan::gui {
namespace {

constexpr double kTimelineEdge = 8;  // around the legend

/// The triangle beside a stage's name: it points down where its lanes are unfolded.
void drawFold(QPainter& painter, double y, bool folded, const QColor& color) {
  constexpr double size = 3;
  const double x = 2 + size;
  const QPolygonF triangle = folded ? QPolygonF{{QPointF(x - size / 2, y - size), QPointF(x + size, y),
                                                 QPointF(x - size / 2, y + size)}}
                                    : QPolygonF{{QPointF(x - size, y - size / 2),
                                                 QPointF(x + size, y - size / 2), QPointF(x, y + size)}};
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawPolygon(triangle);
  painter.restore();
}

}  // namespace

void Timeline::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const Layout at = layout(size, theme);
  drawLegend(painter, {kTimelineEdge, kTimelineEdge}, at.legend_entries, at.legend, theme);
  drawTimeAxis(painter, at, theme);
  painter.save();
  drawLanes(painter, at, false, theme);
  drawLanes(painter, at, true, theme);
  if (shows_path_) drawPath(painter, at, theme);
  painter.restore();
  drawLabels(painter, at, theme);
}

void Timeline::drawLanes(QPainter& painter, const Layout& at, bool pinned, const PlotTheme& theme) const {
  painter.setClipRect(pinned ? at.plot : at.scrolled);
  CoverageImage coverage(at.plot.width(), painter.device()->devicePixelRatioF(), theme);
  for (std::size_t i = 0; i < data_->lanes.size(); ++i) {
    if (at.pinned[i] != pinned || at.seen(i).isEmpty()) continue;
    if (showsSpans(static_cast<int>(i))) {
      drawSpans(painter, at.lanes[i], i, theme);
    } else {
      coverage.paint(painter, at.lanes[i].adjusted(0, 0, 0, at.lanes[i].height() > 4 ? -1 : 0),
                     data_->lanes[i], window_);
    }
  }
  if (!pinned || at.scrolled.top() <= at.plot.top()) return;
  painter.setPen(QPen(theme.axis, 1));
  painter.drawLine(at.scrolled.topLeft(), at.scrolled.topRight());
}

/// A line through the chain's spans, with steps where it goes on at another lane. What is narrower than a
/// pixel is drawn as one.
void Timeline::drawPath(QPainter& painter, const Layout& at, const PlotTheme& theme) const {
  const auto& path = data_->path;
  const auto first = std::partition_point(path.begin(), path.end(),
                                          [&](const auto& box) { return box.end <= window_.low(); });
  const Scale x(ScaleKind::Linear, window_.low(), window_.high(), at.plot.left(), at.plot.right());
  QVector<QLineF> lines;
  std::vector<std::optional<QLineF>> runs(at.lanes.size());  // the last of each lane, which may go on
  bool goes_on = false;                                      // from the span before, which ends at `from`
  QPointF from;
  for (auto box = first; box != path.end() && box->begin < window_.high(); ++box) {
    auto lane = static_cast<std::size_t>(box->lane);
    while (at.lanes[lane].isNull() && lane > 0) --lane;  // folded: its stage's first lane stands for it
    const QRectF seen = at.seen(lane);
    const double y = at.lanes[lane].center().y();
    if (seen.isEmpty() || y < seen.top() || y > seen.bottom()) {
      goes_on = false;
      continue;
    }
    const double left = std::max(x.toPixel(box->begin), at.plot.left());
    const double right = std::min(x.toPixel(box->end), at.plot.right());
    if (goes_on && from.y() != y && (lines.empty() || left - lines.back().x1() >= 1))
      lines.append(QLineF(left, from.y(), left, y));
    from = QPointF(right, y);
    goes_on = true;
    auto& run = runs[lane];
    if (run && left - run->x2() < 1) {
      run->setP2(QPointF(right, y));
      continue;
    }
    if (run) lines.append(*run);
    run = QLineF(left, y, right, y);
  }
  for (const auto& run : runs) {
    if (run) lines.append(*run);
  }
  painter.setClipRect(at.plot);
  painter.setPen(QPen(theme.background, 5));  // a rim, on whatever colour
  painter.drawLines(lines);
  painter.setPen(QPen(theme.text, 2.5));
  painter.drawLines(lines);
}

void Timeline::drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  if (selection_) {
    QColor veil = theme.focus;
    veil.setAlphaF(0.15F);
    painter.setPen(QPen(theme.focus, 1, Qt::DashLine));
    painter.setBrush(veil);
    const Layout at = layout(size, theme);
    for (const std::size_t lane : selection_->lanes) painter.drawRect(boxOf(*selection_, lane, at));
  }
  painter.setBrush(Qt::NoBrush);
  if (currentItem() >= 0) {
    painter.setPen(QPen(theme.focus, 2));
    painter.drawRect(itemRect(currentItem()).intersected(layout(size, theme).plot));
  }
  if (cursor_ >= window_.low() && cursor_ <= window_.high()) {
    const Layout at = layout(size, theme);
    const double x = at.plot.left() + (cursor_ - window_.low()) / window_.width() * at.plot.width();
    painter.setPen(QPen(theme.danger, 1));
    painter.drawLine(QPointF(x, at.plot.top()), QPointF(x, at.plot.bottom()));
  }
}

void Timeline::drawTimeAxis(QPainter& painter, const Layout& at, const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  const Scale x(ScaleKind::Linear, window_.low(), window_.high(), at.plot.left(), at.plot.right());
  const AxisTicks ticks = placeTicks(x, AxisUnit::Seconds, metrics.horizontalAdvance(u'0') * kTickLetters);
  for (const Tick& tick : ticks.ticks) {
    const double pixel = x.toPixel(tick.value);
    painter.setPen(QPen(theme.grid, 1));
    painter.drawLine(QPointF(pixel, at.plot.top()), QPointF(pixel, at.plot.bottom()));
    painter.setPen(theme.faint);
    const double width = metrics.horizontalAdvance(tick.label);
    const double left = std::max(std::min(pixel - width / 2, at.plot.right() - width), at.plot.left() - 20);
    painter.drawText(QRectF(left, at.plot.bottom() + 2, width + 2, metrics.height()),
                     Qt::AlignLeft | Qt::TextDontClip, tick.label);
  }
  painter.setPen(theme.faint);
  painter.drawText(
      QRectF(at.plot.left(), at.plot.bottom() + 2 + metrics.height(), at.plot.width(), metrics.height()),
      Qt::AlignRight, withUnit(tr("time of the step"), ticks));
}

QString Timeline::spanLabel(std::size_t lane, std::size_t index) const {
  if (data_->label) return data_->label(lane, index);
  const TimelineSpan& span = data_->lanes[lane].spans[index];
  if (span.microbatch < 0) return data_->names[span.what];
  return span.chunk > 0 ? QStringLiteral("%1·%2").arg(span.microbatch).arg(span.chunk)
                        : QString::number(span.microbatch);
}

void Timeline::drawSpans(QPainter& painter, const QRectF& box, std::size_t index,
                         const PlotTheme& theme) const {
  const TimelineLane& lane = data_->lanes[index];
  const QFontMetricsF metrics(painter.font());
  const Scale x(ScaleKind::Linear, window_.low(), window_.high(), box.left(), box.right());
  const auto between = [&](double begin, double end) {
    const double left = std::max(x.toPixel(begin), box.left()), right = std::min(x.toPixel(end), box.right());
    return QRectF(left, box.top(), right - left, box.height() > 4 ? box.height() - 1 : box.height());
  };
  const double narrowest = metrics.horizontalAdvance(u'0') + 4;
  double previous_end = window_.low();
  for (std::size_t i = firstEndingAfter(lane, window_.low());
       i < lane.spans.size() && lane.spans[i].begin < window_.high(); ++i) {
    const TimelineSpan& span = lane.spans[i];
    if (lane.idle_is_bubble && span.begin > previous_end) {
      fillRect(painter, between(previous_end, span.begin), theme.of(Ink::Bubble));
    }
    previous_end = span.end;
    // A hair of background between neighbours tells them apart.
    QRectF area = between(span.begin, span.end);
    if (area.width() > 3) area.setWidth(area.width() - 0.75);
    fillRect(painter, area, theme.of(span.ink));
    if (area.height() < metrics.height() * 0.9 || area.width() < narrowest) continue;
    const QString label = spanLabel(index, i);
    if (area.width() < metrics.horizontalAdvance(label) + 4) continue;
    painter.setPen(theme.of(span.ink).text());
    painter.drawText(area, Qt::AlignCenter, label);
  }
  if (lane.idle_is_bubble && previous_end < window_.high()) {
    fillRect(painter, between(previous_end, window_.high()), theme.of(Ink::Bubble));
  }
}

QString Timeline::laneName(const TimelineLane& lane, bool with_stage, bool roomy) const {
  if (!data_->of_stages || !with_stage) return lane.label;
  return tr("%1 %2").arg(lane.stage).arg(roomy ? lane.label : QString{});
}

void Timeline::drawLabels(QPainter& painter, const Layout& at, const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  for (const bool pinned : {true, false}) {
    double free_from = 0;
    for (std::size_t i = 0; i < data_->lanes.size(); ++i) {
      if (at.pinned[i] != pinned || at.lanes[i].isNull()) continue;
      const TimelineLane& lane = data_->lanes[i];
      const QRectF& area = pinned ? at.plot : at.scrolled;
      const bool first = isFirstOfStage(i) || !data_->of_stages;
      const double middle = at.lanes[i].center().y();
      if (middle < area.top() || middle > area.bottom()) continue;
      if (middle - metrics.height() / 2 < free_from - 1) continue;
      // Where lanes are lower than text, stages alone are named.
      const bool roomy = at.lanes[i].height() >= metrics.height() * 0.95;
      if (!roomy && !first) continue;
      const QString text = laneName(lane, first, roomy);
      painter.setPen(pinned ? theme.text : theme.faint);
      painter.drawText(QRectF(0, middle - metrics.height() / 2, at.plot.left() - 6, metrics.height()),
                       Qt::AlignRight | Qt::AlignVCenter, text.trimmed());
      free_from = middle + metrics.height() / 2;
      if (isFirstOfStage(i) && canFold(i)) drawFold(painter, middle, isFolded(lane.stage), theme.faint);
    }
  }
}

}  // namespace hexaplan::gui
