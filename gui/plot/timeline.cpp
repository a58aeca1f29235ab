#include "gui/plot/timeline.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gui/plot/coverage_image.h"
#include "gui/plot/fill_rect.h"
#include "gui/plot/ticks.h"

namespace hexaplan::gui {
namespace {

constexpr double kTimelineMargin = 8;
/// Height of a lane of weight 1 at the least, pixels: patterns can still be told apart.
constexpr double kLowestLane = 4;
constexpr double kLeastGap = 2;  // between stages whose lanes are so low

}  // namespace

Timeline::Timeline(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Pipeline timeline"));
  setWhatsThis(
      tr("What every stage does over one step. Wheel or W and S zoom, dragging or A and D move, F shows "
         "everything, M zooms to the current span, arrows go from span to span. Where lanes are scrolled "
         "through, Ctrl and the wheel zoom. Dragging with Shift selects a part and sums it up."));
  lanes_bar_ = new QScrollBar{Qt::Vertical, this};
  lanes_bar_->setObjectName("lanesBar");
  lanes_bar_->setAccessibleName(tr("Lanes that are seen"));
  lanes_bar_->hide();
  connect(lanes_bar_, &QScrollBar::valueChanged, this, [this] { redraw(); });
}

void Timeline::setTimeline(std::shared_ptr<const TimelineData> timeline) {
  const bool same_length = data_ && timeline && data_->end == timeline->end;
  data_ = std::move(timeline);
  first_item_.clear();
  std::size_t items = 0;
  if (data_) {
    for (const TimelineLane& lane : data_->lanes) {
      first_item_.push_back(items);
      items += lane.spans.size();
    }
    if (!same_length) window_ = TimeWindow(data_->end);
  }
  setCurrentItem(-1);
  clearSelection();
  placeLanesBar();
  dataChanged();
  if (data_) emit windowChanged(window_.low(), window_.high());
}

int Timeline::itemCount() const {
  return data_ ? static_cast<int>(data_->spanCount()) : 0;
}

void Timeline::setWindow(const TimeWindow& window) {
  if (window == window_ || !data_) return;
  window_ = window;
  redraw();
  emit windowChanged(window_.low(), window_.high());
}

void Timeline::fit() {
  setWindow(window_.whole());
}

void Timeline::setCursorTime(double seconds) {
  if (seconds == cursor_) return;
  cursor_ = seconds;
  update();
}

QSize Timeline::minimumSizeHint() const {
  return {300, 120};
}

void Timeline::resizeEvent(QResizeEvent* event) {
  PlotView::resizeEvent(event);
  placeLanesBar();
}

/// Beside the lanes, where the last label of the axis stands out: the axis stays that of the charts below.
void Timeline::placeLanesBar() {
  const Layout at = data_ ? here() : Layout{};
  const int hidden = static_cast<int>(std::ceil(at.hidden));
  lanes_bar_->setVisible(hidden > 0);
  if (hidden == 0) return lanes_bar_->setValue(0);
  lanes_bar_->setRange(0, hidden);
  lanes_bar_->setPageStep(static_cast<int>(at.plot.height()));
  lanes_bar_->setSingleStep(static_cast<int>(10 * kLowestLane));
  const int left = static_cast<int>(at.plot.right()) + 2;
  lanes_bar_->setGeometry(left, static_cast<int>(at.plot.top()), std::max(8, width() - left - 1),
                          static_cast<int>(at.plot.height()));
}

void Timeline::select(double low_seconds, double high_seconds, int first_lane, int last_lane) {
  selection_ = Selection{low_seconds, high_seconds, first_lane, last_lane};
  update();
  emit selectionChanged();
}

void Timeline::clearSelection() {
  if (!selection_) return;
  selection_.reset();
  update();
  emit selectionChanged();
}

Timeline::Selection Timeline::between(const QPointF& a, const QPointF& b) const {
  const Layout at = here();
  const auto lane_at = [&](double y) {
    int lane = 0;
    while (lane + 1 < static_cast<int>(at.lanes.size()) &&
           at.lanes[static_cast<std::size_t>(lane)].bottom() < y)
      ++lane;
    return lane;
  };
  const double from = timeAt(a.x()), to = timeAt(b.x());
  const int first = lane_at(a.y()), last = lane_at(b.y());
  return {std::min(from, to), std::max(from, to), std::min(first, last), std::max(first, last)};
}

QRectF Timeline::boxOf(const Selection& selection, const Layout& at) const {
  const Scale x(ScaleKind::Linear, window_.low(), window_.high(), at.plot.left(), at.plot.right());
  const QRectF box(
      QPointF(x.toPixel(selection.low), at.lanes[static_cast<std::size_t>(selection.first_lane)].top()),
      QPointF(x.toPixel(selection.high), at.lanes[static_cast<std::size_t>(selection.last_lane)].bottom()));
  return box.intersected(at.plot);
}

QString Timeline::selectedText() const {
  if (!data_ || !selection_) return {};
  std::vector<double> sums(data_->names.size());
  double idle = 0;
  const Selection& of = *selection_;
  for (int i = of.first_lane; i <= of.last_lane; ++i) {
    const TimelineLane& lane = data_->lanes[static_cast<std::size_t>(i)];
    double busy = 0;
    for (std::size_t k = firstEndingAfter(lane, of.low);
         k < lane.spans.size() && lane.spans[k].begin < of.high; ++k) {
      const TimelineSpan& span = lane.spans[k];
      const double seconds = std::min(span.end, of.high) - std::max(span.begin, of.low);
      busy += seconds;
      if (span.what < sums.size()) sums[span.what] += seconds;
    }
    if (lane.idle_is_bubble) idle += std::max(0.0, of.high - of.low - busy);
  }
  std::vector<std::size_t> order(sums.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
  QStringList parts;
  for (const std::size_t kind : order) {
    if (sums[kind] > 0)
      parts.append(tr("%1 %2").arg(data_->names[kind], secondsText(costmodel::Seconds{sums[kind]})));
  }
  if (idle > 0) parts.append(tr("waiting %1").arg(secondsText(costmodel::Seconds{idle})));
  return tr("Selected: %1 from %2 in %n lane(s): %3.", nullptr, of.last_lane - of.first_lane + 1)
      .arg(secondsText(costmodel::Seconds{of.high - of.low}), secondsText(costmodel::Seconds{of.low}),
           parts.isEmpty() ? tr("nothing runs") : parts.join(QStringLiteral(", ")));
}

Timeline::Layout Timeline::layout(const QSizeF& size, const PlotTheme& theme) const {
  Layout out;
  const QFontMetricsF metrics(smallFont());
  for (const TimelineData::LegendRow& row : data_->legend) {
    out.legend_entries.push_back({theme.of(row.ink), row.text});
  }
  out.legend = layoutLegend(out.legend_entries, metrics, size.width() - 2 * kTimelineMargin);
  const double top = kTimelineMargin + out.legend.height + 2;
  // At the right, half of the last label stands out, as in layoutAxes.
  out.plot = QRectF(QPointF(std::max(ownLeft(), least_left_), top),
                    QPointF(size.width() - kTimelineMargin - 3 * metrics.horizontalAdvance(u'0'),
                            size.height() - kTimelineMargin - 2 * metrics.height() - 4));
  double weights = 0;
  for (const TimelineLane& lane : data_->lanes) weights += lane.weight;
  const auto stages = data_->lanes.empty() ? 1 : data_->lanes.back().stage + 1;
  const double gap = std::clamp(out.plot.height() / (stages * 6.0), kLeastGap, 6.0);
  const double unit = std::max(kLowestLane, (out.plot.height() - gap * stages) / std::max(weights, 1.0));
  out.hidden = std::max(0.0, weights * unit + gap * stages - out.plot.height() - 1);
  double y = out.plot.top() - std::min<double>(lanes_bar_->value(), out.hidden);
  for (std::size_t i = 0; i < data_->lanes.size(); ++i) {
    const TimelineLane& lane = data_->lanes[i];
    if (i > 0 && lane.stage != data_->lanes[i - 1].stage) y += gap;
    out.lanes.emplace_back(out.plot.left(), y, out.plot.width(), lane.weight * unit);
    y += lane.weight * unit;
  }
  return out;
}

/// Of the names of lanes.
double Timeline::ownLeft() const {
  const QFontMetricsF metrics(smallFont());
  const int last_stage = data_->lanes.empty() ? 0 : data_->lanes.back().stage;  // has the most digits
  double widest = 0;
  QStringList measured;
  for (const TimelineLane& lane : data_->lanes) {
    if (measured.contains(lane.label)) continue;
    measured.append(lane.label);
    const QString name = data_->of_stages ? tr("%1 %2").arg(last_stage).arg(lane.label) : lane.label;
    widest = std::max(widest, metrics.horizontalAdvance(name));
  }
  return kTimelineMargin + widest + 6;
}

double Timeline::plotLeft() const {
  return data_ ? here().plot.left() : least_left_;
}

double Timeline::plotRight() const {
  return data_ ? here().plot.right() : width();
}

void Timeline::setLeastLeft(double pixels) {
  if (pixels == least_left_) return;
  least_left_ = pixels;
  update();
}

Timeline::Layout Timeline::here() const {
  return layout(size(), PlotTheme::suiting(palette()));
}

double Timeline::timeAt(double x) const {
  const QRectF plot = here().plot;
  return window_.low() + std::clamp((x - plot.left()) / plot.width(), 0.0, 1.0) * window_.width();
}

bool Timeline::showsSpans(int lane) const {
  const TimelineLane& spans = data_->lanes[static_cast<std::size_t>(lane)];
  const auto first = firstEndingAfter(spans, window_.low()), last = firstEndingAfter(spans, window_.high());
  constexpr double pixels_per_span = 3;
  return static_cast<double>(last - first) * pixels_per_span < width();
}

Timeline::Place Timeline::place(int item) const {
  const auto index = static_cast<std::size_t>(item);
  const auto next = std::upper_bound(first_item_.begin(), first_item_.end(), index);
  const auto lane = static_cast<std::size_t>(next - first_item_.begin()) - 1;
  return {static_cast<int>(lane), index - first_item_[lane]};
}

int Timeline::itemAt(const QPointF& point) const {
  const Layout at = here();
  if (!at.plot.contains(point)) return -1;
  for (std::size_t lane = 0; lane < at.lanes.size(); ++lane) {
    if (!at.lanes[lane].contains(point)) continue;
    const std::size_t span = spanAt(data_->lanes[lane], timeAt(point.x()));
    if (span == data_->lanes[lane].spans.size()) return -1;
    return static_cast<int>(first_item_[lane] + span);
  }
  return -1;
}

QRectF Timeline::itemRect(int item) const {
  const Layout at = here();
  const Place where = place(item);
  const TimelineSpan& span = data_->lanes[static_cast<std::size_t>(where.lane)].spans[where.span];
  const QRectF& lane = at.lanes[static_cast<std::size_t>(where.lane)];
  const Scale x(ScaleKind::Linear, window_.low(), window_.high(), lane.left(), lane.right());
  const double left = std::max(x.toPixel(span.begin), lane.left());
  const double right = std::min(x.toPixel(span.end), lane.right());
  return {left, lane.top(), std::max(right - left, 1.0), lane.height()};
}

int Timeline::neighbour(int item, int key) const {
  if (item < 0) return 0;
  const Place from = place(item);
  const auto& lanes = data_->lanes;
  const TimelineLane& lane = lanes[static_cast<std::size_t>(from.lane)];
  if (key == Qt::Key_Left) return from.span > 0 ? item - 1 : item;
  if (key == Qt::Key_Right) return from.span + 1 < lane.spans.size() ? item + 1 : item;
  const double middle = (lane.spans[from.span].begin + lane.spans[from.span].end) / 2;
  const int step = key == Qt::Key_Up ? -1 : 1;
  for (int to = from.lane + step; to >= 0 && to < static_cast<int>(lanes.size()); to += step) {
    const TimelineLane& other = lanes[static_cast<std::size_t>(to)];
    if (other.spans.empty()) continue;
    const std::size_t span = std::min(firstEndingAfter(other, middle), other.spans.size() - 1);
    return static_cast<int>(first_item_[static_cast<std::size_t>(to)] + span);
  }
  return item;
}

QString Timeline::describe(int item) const {
  const Place where = place(item);
  if (data_->words) return data_->words(static_cast<std::size_t>(where.lane), where.span);
  const TimelineLane& lane = data_->lanes[static_cast<std::size_t>(where.lane)];
  const TimelineSpan& span = lane.spans[where.span];
  QString out = tr("%1, stage %2, %3").arg(data_->names[span.what]).arg(lane.stage).arg(lane.label);
  if (span.microbatch >= 0) out += tr("\nmicro-batch %1").arg(span.microbatch);
  if (span.chunk > 0) out += tr("\nchunk %1").arg(span.chunk);
  out += tr("\nfrom %1, for %2")
             .arg(secondsText(costmodel::Seconds{span.begin}),
                  secondsText(costmodel::Seconds{span.end - span.begin}));
  return out;
}

QString Timeline::textAlternative() const {
  if (!data_) return {};
  QString out = tr("One step of %1 on %n lane(s).", nullptr, static_cast<int>(data_->lanes.size()))
                    .arg(secondsText(costmodel::Seconds{data_->end}));
  if (!data_->title.isEmpty()) out.prepend(data_->title + u'\n');
  for (const TimelineLane& lane : data_->lanes) {
    double busy = 0;
    for (const TimelineSpan& span : lane.spans) {
      const bool waits = lane.idle_is_bubble && span.ink == Ink::ExposedCommunication;
      if (!waits) busy += span.end - span.begin;
    }
    const auto spans = static_cast<int>(lane.spans.size());
    const QString share = percentText(busy / data_->end);
    out += data_->of_stages
               ? tr("\nStage %1, %2: %n span(s), busy %3 of the step", nullptr, spans)
                     .arg(lane.stage)
                     .arg(lane.label, share)
               : tr("\n%1: %n span(s), busy %2 of the step", nullptr, spans).arg(lane.label, share);
  }
  return out;
}

void Timeline::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const Layout at = layout(size, theme);
  drawLegend(painter, {kTimelineMargin, kTimelineMargin}, at.legend_entries, at.legend, theme);
  drawTimeAxis(painter, at, theme);
  painter.save();
  painter.setClipRect(at.plot);  // lanes that are scrolled away
  CoverageImage coverage(at.plot.width(), painter.device()->devicePixelRatioF(), theme);
  for (std::size_t i = 0; i < data_->lanes.size(); ++i) {
    const TimelineLane& lane = data_->lanes[i];
    if (!at.lanes[i].intersects(at.plot)) continue;
    if (showsSpans(static_cast<int>(i))) {
      drawSpans(painter, at.lanes[i], i, theme);
    } else {
      coverage.paint(painter, at.lanes[i].adjusted(0, 0, 0, at.lanes[i].height() > 4 ? -1 : 0), lane,
                     window_);
    }
  }
  painter.restore();
  drawLabels(painter, at, theme);
}

void Timeline::drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  if (selection_) {
    QColor veil = theme.focus;
    veil.setAlphaF(0.15F);
    painter.setPen(QPen(theme.focus, 1, Qt::DashLine));
    painter.setBrush(veil);
    painter.drawRect(boxOf(*selection_, layout(size, theme)));
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
  painter.setPen(theme.faint);
  double free_from = 0;
  for (std::size_t i = 0; i < data_->lanes.size(); ++i) {
    const TimelineLane& lane = data_->lanes[i];
    const bool first = i == 0 || data_->lanes[i - 1].stage != lane.stage || !data_->of_stages;
    const double middle = at.lanes[i].center().y();
    if (middle < at.plot.top() || middle > at.plot.bottom()) continue;
    if (middle - metrics.height() / 2 < free_from - 1) continue;
    // Where lanes are lower than text, stages alone are named.
    const bool roomy = at.lanes[i].height() >= metrics.height() * 0.95;
    if (!roomy && !first) continue;
    const QString text = laneName(lane, first, roomy);
    painter.drawText(QRectF(0, middle - metrics.height() / 2, at.plot.left() - 6, metrics.height()),
                     Qt::AlignRight | Qt::AlignVCenter, text.trimmed());
    free_from = middle + metrics.height() / 2;
  }
}

}  // namespace hexaplan::gui
