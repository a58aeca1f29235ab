#include "gui/plot/stage_memory_bars.h"

#include <QFontMetricsF>
#include <QLocale>
#include <QPainter>
#include <algorithm>

#include "gui/models/terms.h"
#include "gui/plot/fill_rect.h"

namespace hexaplan::gui {
namespace {

using costmodel::Bytes;

constexpr double kWideBar = 80;  // pixels; names stand inside

/// The name of a capacity line stands right of the plot, above or below the line.
void drawLimit(QPainter& painter, const StageMemoryGeometry& at, const StageMemoryGeometry::Limit& limit,
               const PlotTheme& theme) {
  const QRectF& plot = at.axes.plot;
  const double y = at.axes.y.toPixel(limit.bytes);
  const QColor color = limit.usable ? theme.danger : theme.limit;
  painter.setPen(QPen(color, 1.6, limit.usable ? Qt::DashLine : Qt::SolidLine));
  painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right() + 4, y));
  const double height = QFontMetricsF(painter.font()).height();
  painter.drawText(QRectF(plot.right() + 8, limit.usable ? y : y - height, at.limit_margin, height),
                   Qt::AlignVCenter | Qt::AlignLeft | Qt::TextDontClip, limit.text);
}

void drawWhisker(QPainter& painter, const StageMemoryGeometry::Bar& bar, const Scale& y,
                 const costmodel::Interval& interval, const QColor& color) {
  // Beside the names inside a wide bar.
  const double x = bar.bar.width() > kWideBar ? bar.bar.right() - 12 : bar.bar.center().x();
  const double top = y.toPixel(interval.high), bottom = y.toPixel(interval.low);
  const double half = std::clamp(bar.bar.width() / 4, 2.0, 7.0);
  painter.setPen(QPen(color, 1.4));
  painter.drawLines({QLineF(x, top, x, bottom), QLineF(x - half, top, x + half, top),
                     QLineF(x - half, bottom, x + half, bottom)});
}

}  // namespace

StageMemoryBars::StageMemoryBars(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Memory per pipeline stage"));
  setWhatsThis(
      tr("Memory of one GPU of every pipeline stage, by kind. Left and right go from stage to stage, "
         "Enter selects one."));
}

void StageMemoryBars::setEstimate(const costmodel::Estimate& estimate, Bytes device_memory) {
  data_.stages = estimate.stages;
  data_.peak_stage = estimate.peak_stage;
  data_.usable = estimate.capacity;
  data_.device = device_memory;
  data_.interval = estimate.memory_bytes;
  if (selected_ >= itemCount()) selected_ = -1;
  dataChanged();
}

void StageMemoryBars::setBaseline(std::vector<costmodel::StageMemory> baseline) {
  data_.baseline = std::move(baseline);
  dataChanged();
}

void StageMemoryBars::clear() {
  data_ = {};
  selected_ = -1;
  dataChanged();
}

void StageMemoryBars::setSelectedStage(int stage) {
  selected_ = stage < itemCount() ? stage : -1;
  redraw();
}

StageMemoryGeometry StageMemoryBars::geometry(const QSizeF& size) const {
  return stageMemoryGeometry(data_, size, byteUnit(), PlotTheme::suiting(palette()),
                             QFontMetricsF(smallFont()));
}

int StageMemoryBars::itemAt(const QPointF& point) const {
  return geometry(size()).stageAt(point);
}

QRectF StageMemoryBars::itemRect(int item) const {
  return geometry(size()).bars[static_cast<std::size_t>(item)].bar;
}

QString StageMemoryBars::describe(int item) const {
  const costmodel::StageMemory& stage = data_.stages[static_cast<std::size_t>(item)];
  QString out = tr("Stage %1: %2").arg(item).arg(bytesOf(stage.device));
  if (data_.usable.value() > 0) {
    const Bytes left = data_.usable - stage.needed;
    out += u'\n';
    out += left.value() >= 0
               ? tr("fits, %1 to spare of %2").arg(bytesOf(left), bytesOf(data_.usable))
               : tr("does not fit: %1 over %2").arg(bytesOf(-1.0 * left), bytesOf(data_.usable));
  }
  const costmodel::MemoryBreakdown kinds = stage.on_device();
  for (const MemoryTerm& term : memoryTerms()) {
    const Bytes bytes = kinds.of(term.kind);
    if (bytes.value() > 0) out += tr("\n%1: %2").arg(labelOf(term.kind), bytesOf(bytes));
  }
  if (item == data_.peak_stage && data_.interval.high > 0) {
    out += tr("\n90 % interval: %1 to %2")
               .arg(bytesOf(Bytes{data_.interval.low}), bytesOf(Bytes{data_.interval.high}));
  }
  if (static_cast<std::size_t>(item) < data_.baseline.size()) {
    const Bytes before = data_.baseline[static_cast<std::size_t>(item)].device;
    const Bytes change = stage.device - before;
    out += tr("\nbaseline: %1 (%2)")
               .arg(bytesOf(before), signedText(change.value(), bytesOf(Bytes{std::abs(change.value())})));
  }
  return out;
}

QString StageMemoryBars::textAlternative() const {
  if (data_.stages.empty()) return {};
  const auto over = std::count_if(data_.stages.begin(), data_.stages.end(), [&](const auto& stage) {
    return data_.usable.value() > 0 && stage.needed > data_.usable;
  });
  QString out = tr("Memory per GPU of %n pipeline stage(s).", nullptr, itemCount());
  out += over == 0 ? tr(" All fit.") : tr(" %n do(es) not fit.", nullptr, static_cast<int>(over));
  return everyItem(out);
}

void StageMemoryBars::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const QFontMetricsF metrics(painter.font());
  const StageMemoryGeometry at = stageMemoryGeometry(data_, size, byteUnit(), theme, metrics);
  drawLegend(painter, at.legend_corner, at.legend_entries, at.legend, theme);
  drawAxes(painter, at.axes, theme);
  for (std::size_t i = 0; i < at.bars.size(); ++i) {
    const StageMemoryGeometry::Bar& bar = at.bars[i];
    for (std::size_t k = 0; k < bar.segments.size(); ++k) {
      fillRect(painter, bar.segments[k], theme.inks[k]);
    }
    const bool current = static_cast<int>(i) == currentItem();
    if (!data_.fits(static_cast<int>(i)) || current) {
      painter.setPen(QPen(current ? theme.focus : theme.danger, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(bar.bar);
    }
  }
  painter.setPen(QPen(theme.baseline, 1.4, Qt::DashLine));
  painter.setBrush(Qt::NoBrush);
  for (const QRectF& ghost : at.baseline) painter.drawRect(ghost);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF& plot = at.axes.plot;
  const double usable = data_.usable.value();
  if (usable > 0) {
    // The part of each bar above the line is hatched in red, whatever it is made of.
    for (const auto& bar : at.bars) {
      const QRectF over = bar.bar & QRectF(QPointF(plot.left(), plot.top()),
                                           QPointF(plot.right(), at.axes.y.toPixel(usable)));
      if (over.height() <= 0) continue;
      // Lines alone: the kinds must be told apart above all where it does not fit.
      fillRect(painter, over, {Qt::transparent, theme.danger, Pattern::Rising});
    }
  }
  for (const StageMemoryGeometry::Limit& limit : at.limits) drawLimit(painter, at, limit, theme);
  for (std::size_t i = 0; i < at.bars.size(); ++i) {
    for (std::size_t k = 0; k < at.bars[i].segments.size(); ++k) {
      drawName(painter, at.bars[i].segments[k], k, data_.stages[i], theme);
    }
  }
  if (data_.interval.high > 0 && data_.peak_stage < itemCount()) {
    drawWhisker(painter, at.bars[static_cast<std::size_t>(data_.peak_stage)], at.axes.y, data_.interval,
                theme.text);
  }
  drawNumbers(painter, at, theme);
}

void StageMemoryBars::drawName(QPainter& painter, const QRectF& segment, std::size_t kind,
                               const costmodel::StageMemory& stage, const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  if (segment.height() < metrics.height() + 2 || segment.width() < 60) return;
  const auto tensor_kind = static_cast<costmodel::TensorKind>(kind);
  const QString text = tr("%1  %2").arg(labelOf(tensor_kind), bytesOf(stage.on_device().of(tensor_kind)));
  const double width = metrics.horizontalAdvance(text);
  if (segment.width() < width + 8) return;
  const QRectF plate(segment.center().x() - width / 2 - 3, segment.center().y() - metrics.height() / 2,
                     width + 6, metrics.height());
  painter.fillRect(plate, theme.inks[kind].color);  // no pattern behind letters
  painter.setPen(theme.inks[kind].text());
  painter.drawText(plate, Qt::AlignCenter, text);
}

void StageMemoryBars::drawNumbers(QPainter& painter, const StageMemoryGeometry& at,
                                  const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  const QRectF& plot = at.axes.plot;
  for (std::size_t i = 0; i < at.bars.size(); ++i) {
    const StageMemoryGeometry::Bar& bar = at.bars[i];
    const int stage = static_cast<int>(i);
    const double x = bar.slot.center().x();
    if (stage % at.label_stride == 0) {
      painter.setPen(stage == data_.peak_stage ? theme.text : theme.faint);
      painter.drawText(QRectF(x - 100, plot.bottom() + 4, 200, metrics.height()),
                       Qt::AlignHCenter | Qt::AlignTop,
                       at.bars.size() <= 4 ? tr("stage %1").arg(stage) : QString::number(stage));
    }
    if (stage == selected_) {
      painter.fillRect(QRectF(bar.bar.left(), plot.bottom() + 1, bar.bar.width(), 3), theme.focus);
    }
    // With its unit where there is room; the axis names it anyway.
    QString total = bytesOf(data_.stages[i].device);
    if (metrics.horizontalAdvance(total) > bar.slot.width() - 2) {
      total = QLocale().toString(data_.stages[i].device.value() / at.axes.y_ticks.unit_size, 'f', 0);
    }
    if (metrics.horizontalAdvance(total) > bar.slot.width() - 2) continue;
    const bool whisker = stage == data_.peak_stage && data_.interval.high > 0 && bar.bar.width() <= kWideBar;
    const double top =
        whisker ? std::min(bar.bar.top(), at.axes.y.toPixel(data_.interval.high)) : bar.bar.top();
    const double width = metrics.horizontalAdvance(total);
    const QRectF box(x - width / 2, top - metrics.height() - 2, width + 1, metrics.height());
    QColor ground = theme.background;
    ground.setAlphaF(0.8F);  // lines behind it do not cross the number out
    painter.fillRect(box.adjusted(-1, 1, 1, -1), ground);
    painter.setPen(data_.fits(stage) ? theme.text : theme.danger);
    painter.drawText(box, Qt::AlignCenter | Qt::TextDontClip, total);
  }
}

}  // namespace hexaplan::gui
