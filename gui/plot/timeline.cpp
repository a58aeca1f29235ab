#include "gui/plot/timeline.h"

#include <QFontMetricsF>
#include <QResizeEvent>
#include <QScrollBar>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "gui/plot/scale.h"

namespace hexaplan::gui {
namespace {

constexpr double kTimelineMargin = 8;
/// Height of a lane of weight 1 at the least, pixels: patterns can still be told apart.
constexpr double kLowestLane = 4;
/// Height of all lanes that are seen, at the least: four stages of a computing lane and three others, each as
/// high as it takes to tell its spans apart.
constexpr int kLowestLanes = 112;
constexpr double kLeastGap = 2;  // between stages whose lanes are so low
/// Pinned lanes take this share of the plot at most; more of them are scrolled like all.
constexpr double kMostPinned = 0.67;

}  // namespace

Timeline::Timeline(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Pipeline timeline"));
  setWhatsThis(tr(
      "What every stage does over one step. Wheel or W and S zoom, dragging or A and D move, F shows "
      "everything, M zooms to the current span, arrows go from span to span. Where lanes are scrolled "
      "through, Ctrl and the wheel zoom. Dragging with Shift selects a part and sums it up. C folds the "
      "lanes of a stage into one, or unfolds them, with Shift those of all stages; P pins a stage above the "
      "others; X shows the critical path, / goes to the filter."));
  lanes_bar_ = new QScrollBar{Qt::Vertical, this};
  lanes_bar_->setObjectName("lanesBar");
  lanes_bar_->setAccessibleName(tr("Lanes that are seen"));
  lanes_bar_->hide();
  connect(lanes_bar_, &QScrollBar::valueChanged, this, [this] { redraw(); });
}

void Timeline::setTimeline(std::shared_ptr<const TimelineData> timeline) {
  const bool same_length = all_ && timeline && all_->end == timeline->end;
  if (all_ && timeline && all_->of_stages != timeline->of_stages) {
    folded_.clear();
    pinned_.clear();
  }
  all_ = std::move(timeline);
  if (all_ && !same_length) window_ = TimeWindow(all_->end);
  showOnly(filteredBy(filter_, all_));
  if (data_) emit windowChanged(window_.low(), window_.high());
  emit shownChanged();
}

void Timeline::showOnly(std::shared_ptr<const TimelineData> spans) {
  data_ = std::move(spans);
  first_item_.clear();
  std::size_t items = 0;
  for (std::size_t lane = 0; data_ && lane < data_->lanes.size(); ++lane) {
    first_item_.push_back(items);
    items += data_->lanes[lane].spans.size();
  }
  setCurrentItem(-1);
  clearSelection();
  placeLanesBar();
  updateGeometry();
  dataChanged();
}

void Timeline::setFilter(const QString& words) {
  if (words == filter_) return;
  filter_ = words;
  showOnly(filteredBy(filter_, all_));
  emit shownChanged();
}

QString Timeline::emptyText() const {
  return all_ && all_->spanCount() > 0 ? tr("No span is called so.") : PlotView::emptyText();
}

void Timeline::showPath(bool shown) {
  if (shown == shows_path_) return;
  shows_path_ = shown;
  redraw();
  emit shownChanged();
}

void Timeline::lanesChanged() {
  clearSelection();
  placeLanesBar();
  redraw();
  emit shownChanged();
}

void Timeline::setFolded(int stage, bool folded) {
  if (folded == isFolded(stage)) return;
  folded ? void(folded_.insert(stage)) : void(folded_.erase(stage));
  lanesChanged();
}

void Timeline::setAllFolded(bool folded) {
  folded_.clear();
  for (std::size_t lane = 0; folded && data_ && lane < data_->lanes.size(); ++lane)
    folded_.insert(data_->lanes[lane].stage);
  lanesChanged();
}

void Timeline::setPinned(int stage, bool pinned) {
  if (pinned == isPinned(stage)) return;
  pinned ? void(pinned_.insert(stage)) : void(pinned_.erase(stage));
  lanesChanged();
}

int Timeline::laneCount() const {
  return data_ ? static_cast<int>(data_->lanes.size()) : 0;
}

QRectF Timeline::laneRect(int lane) const {
  return data_ ? here().seen(static_cast<std::size_t>(lane)) : QRectF{};
}

int Timeline::currentStage() const {
  if (currentItem() >= 0) return data_->lanes[static_cast<std::size_t>(place(currentItem()).lane)].stage;
  const Layout at = here();
  for (std::size_t lane = 0; lane < at.lanes.size(); ++lane) {
    if (!at.pinned[lane] && !at.seen(lane).isEmpty()) return data_->lanes[lane].stage;
  }
  return 0;
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
  constexpr int narrowest = 300;
  if (!data_ || data_->lanes.empty()) return {narrowest, kLowestLanes};
  const double beside = height() - here().plot.height();
  return {narrowest, static_cast<int>(std::ceil(beside)) + kLowestLanes};
}

void Timeline::resizeEvent(QResizeEvent* event) {
  PlotView::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) updateGeometry();  // lines of the legend
  placeLanesBar();
}

/// Beside the lanes, where the last label of the axis stands out: the axis stays that of the charts below.
void Timeline::placeLanesBar() {
  const Layout at = data_ ? here() : Layout{};
  const int hidden = static_cast<int>(std::ceil(at.hidden));
  lanes_bar_->setVisible(hidden > 0);
  if (hidden == 0) return lanes_bar_->setValue(0);
  lanes_bar_->setRange(0, hidden);
  lanes_bar_->setPageStep(static_cast<int>(at.scrolled.height()));
  lanes_bar_->setSingleStep(static_cast<int>(10 * kLowestLane));
  const int left = static_cast<int>(at.plot.right()) + 2;
  lanes_bar_->setGeometry(left, static_cast<int>(at.scrolled.top()), std::max(8, width() - left - 1),
                          static_cast<int>(at.scrolled.height()));
}

void Timeline::setSelection(Selection selection) {
  selection_ = std::move(selection);
  update();
  emit selectionChanged();
}

void Timeline::select(double low_seconds, double high_seconds, int first_lane, int last_lane) {
  Selection selection{low_seconds, high_seconds, {}};
  const Layout at = here();
  for (int lane = first_lane; lane <= last_lane; ++lane) {
    if (!at.lanes[static_cast<std::size_t>(lane)].isNull())
      selection.lanes.push_back(static_cast<std::size_t>(lane));
  }
  setSelection(std::move(selection));
}

void Timeline::clearSelection() {
  if (!selection_) return;
  selection_.reset();
  update();
  emit selectionChanged();
}

Timeline::Selection Timeline::between(const QPointF& a, const QPointF& b) const {
  const Layout at = here();
  const double from = timeAt(a.x()), to = timeAt(b.x());
  const double top = std::min(a.y(), b.y()), bottom = std::max(a.y(), b.y());
  Selection selection{std::min(from, to), std::max(from, to), {}};
  for (std::size_t lane = 0; lane < at.lanes.size(); ++lane) {
    const QRectF seen = at.seen(lane);
    if (!seen.isEmpty() && seen.top() <= bottom && seen.bottom() >= top) selection.lanes.push_back(lane);
  }
  return selection;
}

QRectF Timeline::boxOf(const Selection& selection, std::size_t lane, const Layout& at) const {
  const Scale x(ScaleKind::Linear, window_.low(), window_.high(), at.plot.left(), at.plot.right());
  const QRectF seen = at.seen(lane);
  return QRectF(QPointF(x.toPixel(selection.low), seen.top()),
                QPointF(x.toPixel(selection.high), seen.bottom()))
      .intersected(at.plot);
}

QString Timeline::sumsText(const std::vector<double>& seconds, double waiting, double whole) const {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
  const auto said = [whole](double time) {
    const QString text = secondsText(costmodel::Seconds{time});
    return whole > 0 ? tr("%1 (%2)").arg(text, percentText(time / whole)) : text;
  };
  const double least = 0.0005 * whole;  // what would be said to be 0.0 %
  QStringList parts;
  for (const std::size_t kind : order) {
    if (seconds[kind] > least) parts.append(tr("%1 %2").arg(data_->names[kind], said(seconds[kind])));
  }
  if (waiting > least) parts.append(tr("waiting %1").arg(said(waiting)));
  return parts.join(QStringLiteral(", "));
}

QString Timeline::selectedText() const {
  if (!data_ || !selection_) return {};
  std::vector<double> sums(data_->names.size());
  double idle = 0;
  const Selection& of = *selection_;
  for (const std::size_t i : of.lanes) {
    const TimelineLane& lane = data_->lanes[i];
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
  const QString parts = sumsText(sums, idle);
  return tr("Selected: %1 from %2 in %n lane(s): %3.", nullptr, static_cast<int>(of.lanes.size()))
      .arg(secondsText(costmodel::Seconds{of.high - of.low}), secondsText(costmodel::Seconds{of.low}),
           parts.isEmpty() ? tr("nothing runs") : parts);
}

QString Timeline::filterText() const {
  if (!data_ || filter_.simplified().isEmpty()) return {};
  std::vector<double> sums(data_->names.size());
  for (const TimelineLane& lane : data_->lanes) {
    for (const TimelineSpan& span : lane.spans) {
      if (span.what < sums.size()) sums[span.what] += span.end - span.begin;
    }
  }
  const QString parts = sumsText(sums, 0);
  const QString count = tr("Filter: %1 of %2 spans")
                            .arg(countText(static_cast<std::int64_t>(data_->spanCount())),
                                 countText(static_cast<std::int64_t>(all_->spanCount())));
  return parts.isEmpty() ? count + u'.' : tr("%1: %2.").arg(count, parts);
}

QString Timeline::pathText() const {
  if (!data_ || data_->path_times.stages == 0) return {};
  const costmodel::PathTimes& times = data_->path_times;
  std::vector<double> sums(data_->names.size());
  for (std::size_t kind = 0; kind < std::min(sums.size(), times.kinds.size()); ++kind)
    sums[kind] = times.kinds[kind].value();
  return tr("Critical path, over %n stage(s): %1.", nullptr, times.stages)
      .arg(sumsText(sums, times.waiting.value(), times.total().value()));
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
  placeLanes(out);
  return out;
}

void Timeline::placeLanes(Layout& out) const {
  const auto& lanes = data_->lanes;
  out.lanes.resize(lanes.size());
  out.pinned.resize(lanes.size());
  // First those that are pinned, then those that are scrolled through.
  struct Part {
    double weights = 0;
    int stages = 0;
  };
  std::array<Part, 2> parts;
  const auto folded = [&](std::size_t lane) { return isFolded(lanes[lane].stage) && !isFirstOfStage(lane); };
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (folded(lane)) continue;
    Part& part = parts[isPinned(lanes[lane].stage) ? 0 : 1];
    part.weights += lanes[lane].weight;
    part.stages += isFirstOfStage(lane) ? 1 : 0;
  }
  const int stages = std::max(1, parts[0].stages + parts[1].stages);
  const double gap = std::clamp(out.plot.height() / (stages * 6.0), kLeastGap, 6.0);
  const double unit = std::max(
      kLowestLane, (out.plot.height() - gap * stages) / std::max(parts[0].weights + parts[1].weights, 1.0));
  const auto height = [&](const Part& part) { return part.weights * unit + gap * part.stages; };
  const bool pins = parts[0].stages > 0 && height(parts[0]) <= kMostPinned * out.plot.height();
  if (!pins) parts[1] = {parts[0].weights + parts[1].weights, stages};
  const double above = pins ? height(parts[0]) : 0;
  out.scrolled = out.plot.adjusted(0, above, 0, 0);
  out.hidden = std::max(0.0, height(parts[1]) - out.scrolled.height() - 1);
  std::array<double, 2> next{out.plot.top(),
                             out.scrolled.top() - std::min<double>(lanes_bar_->value(), out.hidden)};
  std::array<int, 2> before{-1, -1};  // the stage above
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (folded(lane)) continue;
    out.pinned[lane] = pins && isPinned(lanes[lane].stage);
    const std::size_t part = out.pinned[lane] ? 0 : 1;
    double& y = next[part];
    if (before[part] >= 0 && before[part] != lanes[lane].stage) y += gap;
    before[part] = lanes[lane].stage;
    out.lanes[lane] = QRectF(out.plot.left(), y, out.plot.width(), lanes[lane].weight * unit);
    y += lanes[lane].weight * unit;
  }
}

bool Timeline::isFirstOfStage(std::size_t lane) const {
  return lane == 0 || data_->lanes[lane - 1].stage != data_->lanes[lane].stage;
}

bool Timeline::canFold(std::size_t first_lane) const {
  return first_lane + 1 < data_->lanes.size() && !isFirstOfStage(first_lane + 1);
}

int Timeline::laneAt(double y, const Layout& at) const {
  for (std::size_t lane = 0; lane < at.lanes.size(); ++lane) {
    const QRectF seen = at.seen(lane);
    if (!seen.isEmpty() && seen.top() <= y && y < seen.bottom()) return static_cast<int>(lane);
  }
  return -1;
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
  const int lane = at.plot.contains(point) ? laneAt(point.y(), at) : -1;
  if (lane < 0) return -1;
  const TimelineLane& spans = data_->lanes[static_cast<std::size_t>(lane)];
  const std::size_t span = spanAt(spans, timeAt(point.x()));
  return span == spans.spans.size() ? -1
                                    : static_cast<int>(first_item_[static_cast<std::size_t>(lane)] + span);
}

QRectF Timeline::itemRect(int item) const {
  const Layout at = here();
  const Place where = place(item);
  const TimelineSpan& span = data_->lanes[static_cast<std::size_t>(where.lane)].spans[where.span];
  const QRectF lane = at.seen(static_cast<std::size_t>(where.lane));
  if (lane.isEmpty()) return {};
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
  const Layout at = here();
  for (int to = from.lane + step; to >= 0 && to < static_cast<int>(lanes.size()); to += step) {
    const TimelineLane& other = lanes[static_cast<std::size_t>(to)];
    if (other.spans.empty() || at.lanes[static_cast<std::size_t>(to)].isNull()) continue;
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
  if (const QString path = pathText(); !path.isEmpty()) out += u'\n' + path;
  return out;
}

}  // namespace hexaplan::gui
