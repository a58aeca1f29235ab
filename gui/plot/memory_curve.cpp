#include "gui/plot/memory_curve.h"

#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <array>

#include "gui/plot/fill_rect.h"
#include "gui/plot/legend.h"
#include "gui/plot/unit_text.h"

namespace hexaplan::gui {
namespace {

constexpr double kMemoryCurveMargin = 8;

std::vector<LegendEntry> legendOf(const PlotTheme& theme) {
  return {{theme.of(Ink::Activations), MemoryCurve::tr("activations")},
          {theme.of(Ink::Parameters), MemoryCurve::tr("states and working sets")},
          {theme.of(Ink::Overhead), MemoryCurve::tr("outside the tensors")}};
}

/// The largest sample of every pixel column: no peak is lost however many samples there are.
struct Column {
  double activations = 0, others = 0;
  [[nodiscard]] double sum() const { return activations + others; }
};

}  // namespace

MemoryCurve::MemoryCurve(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Memory over time"));
  setWhatsThis(tr("Live memory of one stage over one step. Left and right go from change to change."));
}

void MemoryCurve::setCurve(MemoryCurveData curve) {
  const bool same_length = curve.end == data_.end;
  data_ = std::move(curve);
  if (!same_length && data_.end > 0) window_ = TimeWindow(data_.end);
  dataChanged();
}

QSize MemoryCurve::minimumSizeHint() const {
  constexpr double kLines = 5;      // legend, title, moments, their title, air
  constexpr int kLowestCurve = 60;  // pixels
  const double beside = kLines * QFontMetricsF(smallFont()).height() + 2 * kMemoryCurveMargin;
  return {PlotView::minimumSizeHint().width(), static_cast<int>(beside) + kLowestCurve};
}

void MemoryCurve::setWindow(double low_seconds, double high_seconds) {
  if (data_.end <= 0) return;
  const TimeWindow window(low_seconds, high_seconds, data_.end);
  if (window == window_) return;
  window_ = window;
  redraw();
}

void MemoryCurve::setCursorTime(double seconds) {
  if (seconds == cursor_) return;
  cursor_ = seconds;
  update();
}

Axes MemoryCurve::axes(const QSizeF& size) const {
  double top = std::max(data_.usable, data_.device);
  for (const MemorySample& s : data_.samples) top = std::max(top, s.activations + s.others + data_.outside);
  const QFontMetricsF metrics(smallFont());
  const PlotTheme& theme = PlotTheme::suiting(palette());
  const double legend = layoutLegend(legendOf(theme), metrics, size.width() - 2 * kMemoryCurveMargin).height;
  const AxisSpec time{.low = window_.low(),
                      .high = window_.high(),
                      .unit = AxisUnit::Seconds,
                      .title = tr("time of the step")};
  const AxisSpec memory{.low = 0,
                        .high = std::max(top * 1.05, 1.0),
                        .unit = inBytesOf(AxisUnit::BinaryBytes, byteUnit()),
                        .title = tr("memory, %1").arg(data_.stage)};
  const auto within = [&](double left) {
    const QRectF area(QPointF(left, kMemoryCurveMargin + legend),
                      QPointF(size.width() - kMemoryCurveMargin, size.height() - kMemoryCurveMargin));
    return layoutAxes(area, time, memory, metrics);
  };
  const Axes own = within(kMemoryCurveMargin);
  return own.plot.left() < least_left_ ? within(kMemoryCurveMargin + least_left_ - own.plot.left()) : own;
}

void MemoryCurve::setLeastLeft(double pixels) {
  if (pixels == least_left_) return;
  least_left_ = pixels;
  update();
}

std::size_t MemoryCurve::sampleAt(double seconds) const {
  const auto next = std::upper_bound(data_.samples.begin(), data_.samples.end(), seconds,
                                     [](double t, const MemorySample& s) { return t < s.at; });
  return next == data_.samples.begin() ? 0 : static_cast<std::size_t>(next - data_.samples.begin()) - 1;
}

int MemoryCurve::itemAt(const QPointF& point) const {
  const Axes at = axes(size());
  if (!at.plot.contains(point)) return -1;
  return static_cast<int>(sampleAt(at.x.fromPixel(point.x())));
}

QRectF MemoryCurve::itemRect(int item) const {
  const Axes at = axes(size());
  const MemorySample& sample = data_.samples[static_cast<std::size_t>(item)];
  const double x = std::clamp(at.x.toPixel(sample.at), at.plot.left(), at.plot.right());
  return {x, at.y.toPixel(sample.activations + sample.others + data_.outside), 1, 12};
}

QString MemoryCurve::describe(int item) const {
  const MemorySample& s = data_.samples[static_cast<std::size_t>(item)];
  using costmodel::Bytes;
  return tr("%1 at %2: %3 on the device\nactivations: %4\nstates and working sets: %5\noutside the tensors: "
            "%6")
      .arg(data_.stage, secondsText(costmodel::Seconds{s.at}),
           bytesOf(Bytes{s.activations + s.others + data_.outside}), bytesOf(Bytes{s.activations}),
           bytesOf(Bytes{s.others}), bytesOf(Bytes{data_.outside}));
}

QString MemoryCurve::textAlternative() const {
  if (data_.samples.empty()) return {};
  const auto total = [](const MemorySample& s) { return s.activations + s.others; };
  const auto highest = std::max_element(data_.samples.begin(), data_.samples.end(),
                                        [&](const auto& a, const auto& b) { return total(a) < total(b); });
  const auto lowest = std::min_element(data_.samples.begin(), data_.samples.end(),
                                       [&](const auto& a, const auto& b) { return total(a) < total(b); });
  QString out = tr("Memory of %1 over a step of %2: between %3 and %4, highest at %5.")
                    .arg(data_.stage, secondsText(costmodel::Seconds{data_.end}),
                         bytesOf(costmodel::Bytes{total(*lowest) + data_.outside}),
                         bytesOf(costmodel::Bytes{total(*highest) + data_.outside}),
                         secondsText(costmodel::Seconds{highest->at}));
  if (data_.usable > 0) out += tr(" Usable: %1.").arg(bytesOf(costmodel::Bytes{data_.usable}));
  return out;
}

void MemoryCurve::drawAreas(QPainter& painter, const Axes& at, const PlotTheme& theme) const {
  const auto columns = std::max(1, static_cast<int>(at.plot.width()));
  std::vector<Column> highest(static_cast<std::size_t>(columns));
  for (std::size_t i = sampleAt(window_.low()); i < data_.samples.size(); ++i) {
    const MemorySample& s = data_.samples[i];
    if (s.at >= window_.high()) break;
    const double until = i + 1 < data_.samples.size() ? data_.samples[i + 1].at : data_.end;
    const auto first = std::clamp(static_cast<int>(at.x.toPixel(s.at) - at.plot.left()), 0, columns - 1);
    const auto last = std::clamp(static_cast<int>(at.x.toPixel(until) - at.plot.left()), first, columns - 1);
    for (int x = first; x <= last; ++x) {
      Column& column = highest[static_cast<std::size_t>(x)];
      if (s.activations + s.others > column.sum()) column = {s.activations, s.others};
    }
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  const auto band = [&](double bottom, double top, std::size_t from, std::size_t to, Ink ink) {
    fillRect(painter,
             QRectF(QPointF(at.plot.left() + static_cast<double>(from), at.y.toPixel(top)),
                    QPointF(at.plot.left() + static_cast<double>(to), at.y.toPixel(bottom))),
             theme.of(ink));
  };
  band(0, data_.outside, 0, highest.size(), Ink::Overhead);
  for (std::size_t from = 0, to = 0; from < highest.size(); from = to) {
    const Column& column = highest[from];
    while (to < highest.size() && highest[to].sum() == column.sum() && highest[to].others == column.others)
      ++to;
    band(data_.outside, data_.outside + column.others, from, to, Ink::Parameters);
    band(data_.outside + column.others, data_.outside + column.sum(), from, to, Ink::Activations);
  }
}

void MemoryCurve::drawLimits(QPainter& painter, const Axes& at, const PlotTheme& theme) const {
  struct Limit {
    double bytes;
    QString name;
    QColor color;
    Qt::PenStyle style;
    bool above;  // its name: on the far side of the other line
  };
  const QFontMetricsF metrics(painter.font());
  const std::array<Limit, 2> limits{
      {{data_.usable, tr("usable %1").arg(bytesOf(costmodel::Bytes{data_.usable})), theme.danger,
        Qt::DashLine, false},
       {data_.device, tr("device %1").arg(bytesOf(costmodel::Bytes{data_.device})), theme.limit,
        Qt::SolidLine, true}}};
  for (const Limit& limit : limits) {
    // The device's line only where it can be told from the usable one.
    if (limit.bytes <= 0 || (limit.above && limit.bytes <= data_.usable * 1.002)) continue;
    const double y = at.y.toPixel(limit.bytes);
    painter.setPen(QPen(limit.color, 1.5, limit.style));
    painter.drawLine(QPointF(at.plot.left(), y), QPointF(at.plot.right(), y));
    const double width = metrics.horizontalAdvance(limit.name);
    const QRectF box(at.plot.right() - width - 4, limit.above ? y - metrics.height() - 1 : y + 1, width,
                     metrics.height());
    QColor ground = theme.background;
    ground.setAlphaF(0.8F);
    if (!limit.above) painter.fillRect(box.adjusted(-3, 0, 3, 0), ground);
    painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, limit.name);
  }
}

void MemoryCurve::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const auto entries = legendOf(theme);
  drawLegend(painter, {kMemoryCurveMargin, kMemoryCurveMargin}, entries,
             layoutLegend(entries, QFontMetricsF(painter.font()), size.width() - 2 * kMemoryCurveMargin),
             theme);
  const Axes at = axes(size);
  drawAxes(painter, at, theme);
  drawAreas(painter, at, theme);
  drawLimits(painter, at, theme);
}

void MemoryCurve::drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  double cursor = cursor_;
  if (currentItem() >= 0 && hasFocus()) cursor = data_.samples[static_cast<std::size_t>(currentItem())].at;
  if (cursor >= window_.low() && cursor <= window_.high()) {
    const Axes at = axes(size);
    painter.setPen(QPen(theme.danger, 1));
    const double x = at.x.toPixel(cursor);
    painter.drawLine(QPointF(x, at.plot.top()), QPointF(x, at.plot.bottom()));
  }
}

void MemoryCurve::mouseMoveEvent(QMouseEvent* event) {
  PlotView::mouseMoveEvent(event);
  if (data_.samples.empty()) return;
  const Axes at = axes(size());
  setCursorTime(at.plot.contains(event->position()) ? at.x.fromPixel(event->position().x()) : -1);
  emit cursorTimeChanged(cursor_);
}

void MemoryCurve::leaveEvent(QEvent* event) {
  setCursorTime(-1);
  emit cursorTimeChanged(-1);
  PlotView::leaveEvent(event);
}

}  // namespace hexaplan::gui
