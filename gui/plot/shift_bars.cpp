#include "gui/plot/shift_bars.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/number_text.h"
#include "gui/plot/fill_rect.h"

namespace hexaplan::gui {
namespace {

constexpr double kShiftMargin = 10;
constexpr double kShiftGap = 10;  // between a bar and its words
constexpr double kTallestRow = 40;
constexpr double kShortestBars = 60;  // what the words leave to the bars at least
/// A bar of this share fills the chart at most: rounding is not blown up to a large bar.
constexpr double kLeastFullScale = 0.01;

}  // namespace

ShiftBars::ShiftBars(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("What other machines would bring"));
  setWhatsThis(tr("What every change of the machines brings. Up and down go from change to change."));
}

void ShiftBars::setShifts(const QString& figure, std::vector<Shift> shifts) {
  figure_ = figure;
  shifts_ = std::move(shifts);
  dataChanged();
}

QString ShiftBars::number(const Shift& shift) const {
  if (!shift.share) return {};
  return signedText(*shift.share, percentText(std::abs(*shift.share)));
}

QString ShiftBars::describe(int item) const {
  const Shift& shift = shifts_[static_cast<std::size_t>(item)];
  QString out = shift.change;
  if (shift.share) out += QStringLiteral(": ") + tr("%1 %2").arg(figure_, number(shift));
  for (const QString& more : {shift.result, shift.words}) {
    if (!more.isEmpty()) out += u'\n' + more;
  }
  return out;
}

QString ShiftBars::textAlternative() const {
  return everyItem();
}

ShiftBars::Layout ShiftBars::layout(const QSizeF& size) const {
  const QFontMetricsF metrics(smallFont());
  Layout at;
  double low = 0, high = kLeastFullScale;
  double numbers = 0;
  for (const Shift& shift : shifts_) {
    at.labels = std::max(at.labels, metrics.horizontalAdvance(shift.change));
    at.results = std::max(at.results, metrics.horizontalAdvance(shift.result));
    numbers = std::max(numbers, metrics.horizontalAdvance(number(shift)));
    low = std::min(low, shift.share.value_or(0));
    high = std::max(high, shift.share.value_or(0));
  }
  at.left = kShiftMargin + at.labels + kShiftGap + (low < 0 ? numbers + kShiftGap : 0);
  // Long names of plans give way to the bars.
  at.results = std::clamp(size.width() - at.left - numbers - 3 * kShiftGap - kShortestBars, 0.0, at.results);
  at.right = std::max(at.left + 1, size.width() - kShiftMargin - at.results - numbers - 2 * kShiftGap);
  at.scale = (at.right - at.left) / (high - low);
  at.zero = at.left - low * at.scale;
  at.row = std::min(kTallestRow, (size.height() - 2 * kShiftMargin) / std::max(1, itemCount()));
  return at;
}

int ShiftBars::itemAt(const QPointF& point) const {
  const int item = static_cast<int>(std::floor((point.y() - kShiftMargin) / layout(size()).row));
  return item >= 0 && item < itemCount() ? item : -1;
}

QRectF ShiftBars::itemRect(int item) const {
  const double row = layout(size()).row;
  return {kShiftMargin / 2, kShiftMargin + item * row, width() - kShiftMargin, row};
}

void ShiftBars::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const QFontMetricsF metrics(painter.font());
  const Layout at = layout(size);
  for (int item = 0; item < itemCount(); ++item) {
    const Shift& shift = shifts_[static_cast<std::size_t>(item)];
    const QRectF row(kShiftMargin, kShiftMargin + item * at.row, size.width() - 2 * kShiftMargin, at.row);
    painter.setPen(theme.text);
    painter.drawText(QRectF(row.left(), row.top(), at.labels, at.row), Qt::AlignRight | Qt::AlignVCenter,
                     shift.change);
    const double end = at.zero + shift.share.value_or(0) * at.scale;
    const double height = at.row * 0.6;
    const QRectF bar(std::min(at.zero, end), row.center().y() - height / 2, std::abs(end - at.zero), height);
    if (bar.width() > 0)
      fillRect(painter, bar, theme.of(*shift.share > 0 ? Ink::Gemm : Ink::ExposedCommunication));
    painter.setPen(theme.text);
    const QString text = number(shift);
    const double width = metrics.horizontalAdvance(text);
    const double beside =
        end < at.zero ? end - kShiftGap / 2 - width : std::max(end, at.zero) + kShiftGap / 2;
    painter.drawText(QRectF(beside, row.top(), width + 1, at.row), Qt::AlignLeft | Qt::AlignVCenter, text);
    painter.setPen(theme.faint);
    painter.drawText(QRectF(size.width() - kShiftMargin - at.results, row.top(), at.results, at.row),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(shift.result, Qt::ElideRight, at.results));
  }
  painter.setPen(QPen(theme.axis, 1));
  painter.drawLine(QPointF(at.zero, kShiftMargin), QPointF(at.zero, kShiftMargin + itemCount() * at.row));
  if (currentItem() >= 0 && currentItem() < itemCount()) {
    painter.setPen(QPen(theme.focus, 1.2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(
        QRectF(kShiftMargin / 2, kShiftMargin + currentItem() * at.row, size.width() - kShiftMargin, at.row));
  }
}

}  // namespace hexaplan::gui
