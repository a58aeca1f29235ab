#include "gui/plot/stage_memory_geometry.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <algorithm>

#include "gui/models/terms.h"

namespace hexaplan::gui {
namespace {

using costmodel::Bytes;

double highest(const StageMemoryData& data) {
  double top = std::max({data.usable.value(), data.device.value(), data.interval.high, 1.0});
  for (const auto& stage : data.stages) top = std::max(top, stage.device.value());
  for (const auto& stage : data.baseline) top = std::max(top, stage.device.value());
  return top;
}

std::vector<LegendEntry> legendEntries(const StageMemoryData& data, const PlotTheme& theme) {
  std::vector<LegendEntry> entries;
  for (const MemoryTerm& term : memoryTerms()) {
    const bool used = std::any_of(data.stages.begin(), data.stages.end(), [&](const auto& stage) {
      return stage.on_device().of(term.kind).value() > 0;
    });
    if (used) entries.push_back({theme.of(inkOf(term.kind)), labelOf(term.kind)});
  }
  return entries;
}

/// The device's line only where it can be told from the usable one.
std::vector<StageMemoryGeometry::Limit> limitsOf(const StageMemoryData& data, ByteUnit unit) {
  const auto text = [](const char* name) { return QCoreApplication::translate("StageMemoryBars", name); };
  std::vector<StageMemoryGeometry::Limit> out;
  constexpr double apart = 1.002;
  if (data.device.value() > data.usable.value() * apart) {
    out.push_back(
        {data.device.value(), false,
         text(QT_TRANSLATE_NOOP("StageMemoryBars", "device %1")).arg(bytesText(data.device, unit))});
  }
  if (data.usable.value() > 0) {
    out.push_back(
        {data.usable.value(), true,
         text(QT_TRANSLATE_NOOP("StageMemoryBars", "usable %1")).arg(bytesText(data.usable, unit))});
  }
  return out;
}

StageMemoryGeometry::Bar barOf(const costmodel::StageMemory& stage, const QRectF& slot, double width,
                               const Scale& y) {
  StageMemoryGeometry::Bar out;
  out.slot = slot;
  const double left = slot.center().x() - width / 2;
  const costmodel::MemoryBreakdown kinds = stage.on_device();
  double below = 0;
  for (std::size_t k = 0; k < out.segments.size(); ++k) {
    const double above = below + std::max(0.0, kinds.of(static_cast<costmodel::TensorKind>(k)).value());
    out.segments[k] = QRectF(QPointF(left, y.toPixel(above)), QPointF(left + width, y.toPixel(below)));
    below = above;
  }
  out.bar = QRectF(QPointF(left, y.toPixel(below)), QPointF(left + width, y.toPixel(0)));
  return out;
}

}  // namespace

int StageMemoryGeometry::stageAt(const QPointF& point) const {
  for (std::size_t i = 0; i < bars.size(); ++i) {
    if (bars[i].slot.contains(point)) return static_cast<int>(i);
  }
  return -1;
}

StageMemoryGeometry stageMemoryGeometry(const StageMemoryData& data, const QSizeF& size, ByteUnit unit,
                                        const PlotTheme& theme, const QFontMetricsF& metrics) {
  constexpr double margin = 10, widest_bar = 110, widest_of_few = 210;
  StageMemoryGeometry out;
  out.legend_entries = legendEntries(data, theme);
  out.legend = layoutLegend(out.legend_entries, metrics, size.width() - 2 * margin);
  out.legend_corner = {margin, margin};
  out.limits = limitsOf(data, unit);
  for (const StageMemoryGeometry::Limit& limit : out.limits) {
    out.limit_margin = std::max(out.limit_margin, metrics.horizontalAdvance(limit.text) + 8);
  }
  // Above the highest bar there is room for its number.
  const AxisSpec y{.low = 0,
                   .high = highest(data) * 1.08,
                   .unit = unit == ByteUnit::Binary ? AxisUnit::BinaryBytes : AxisUnit::DecimalBytes,
                   .title = QCoreApplication::translate("StageMemoryBars", "memory per GPU")};
  out.axes =
      layoutAxes(QRectF(margin, margin + out.legend.height, size.width() - 2 * margin - out.limit_margin,
                        size.height() - 2 * margin - out.legend.height),
                 {}, y, metrics);
  const auto places = std::max(data.stages.size(), data.baseline.size());
  const QRectF& plot = out.axes.plot;
  const double pitch = places == 0 ? plot.width() : plot.width() / static_cast<double>(places);
  const double width =
      std::min(places <= 4 ? widest_of_few : widest_bar, pitch > 8 ? pitch * 0.78 : std::max(1.0, pitch - 1));
  const auto slot = [&](std::size_t i) {
    return QRectF(plot.left() + pitch * static_cast<double>(i), plot.top(), pitch, plot.height());
  };
  for (std::size_t i = 0; i < data.stages.size(); ++i) {
    out.bars.push_back(barOf(data.stages[i], slot(i), width, out.axes.y));
  }
  for (std::size_t i = 0; i < data.baseline.size(); ++i) {
    const double spread = std::min(4.0, (pitch - width) / 2);
    out.baseline.push_back(
        barOf(data.baseline[i], slot(i), width, out.axes.y).bar.adjusted(-spread, 0, spread, 0));
  }
  const double label = metrics.horizontalAdvance(QString::number(places)) + metrics.horizontalAdvance(u'0');
  while (out.label_stride * pitch < label) out.label_stride *= 2;
  return out;
}

}  // namespace hexaplan::gui
