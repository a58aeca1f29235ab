#include "gui/plot/heat_map.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <limits>

#include "gui/plot/fill_rect.h"

namespace hexaplan::gui {
namespace {

constexpr double kHeatMapMargin = 10;
constexpr double kScaleWidth = 120, kScaleHeight = 12;

}  // namespace

HeatMap::HeatMap(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Heat map"));
  setWhatsThis(
      tr("The best plan for every pair of values. Arrows go from cell to cell, Enter loads its plan."));
}

void HeatMap::setCells(HeatMapData data) {
  const bool same_shape = data.cells.size() == data_.cells.size() && data.columns == data_.columns;
  data_ = std::move(data);
  low_ = std::numeric_limits<double>::max();
  high_ = std::numeric_limits<double>::lowest();
  for (const HeatMapCell& cell : data_.cells) {
    if (!cell.value) continue;
    low_ = std::min(low_, *cell.value);
    high_ = std::max(high_, *cell.value);
  }
  if (!same_shape) setCurrentItem(-1);
  dataChanged();
}

QRectF HeatMap::plotOf(const QSizeF& size) const {
  const QFontMetricsF metrics(smallFont());
  double widest = 0;
  for (const QString& name : data_.rows) widest = std::max(widest, metrics.horizontalAdvance(name));
  const double left = kHeatMapMargin + metrics.height() + 6 + widest + 6;  // its title stands upright
  const double top = kHeatMapMargin + metrics.height() + 10;               // below the scale
  return {QPointF(left, top),
          QPointF(size.width() - kHeatMapMargin, size.height() - kHeatMapMargin - 2 * metrics.height() - 8)};
}

QRectF HeatMap::cellRect(const QRectF& plot, int item) const {
  const auto columns = static_cast<int>(data_.columns.size()), rows = static_cast<int>(data_.rows.size());
  const int row = item / columns, column = item % columns;
  const double width = plot.width() / columns, height = plot.height() / rows;
  return {plot.left() + width * column, plot.top() + height * row, width, height};
}

QRectF HeatMap::itemRect(int item) const {
  return cellRect(plotOf(size()), item);
}

int HeatMap::itemAt(const QPointF& point) const {
  const QRectF plot = plotOf(size());
  if (data_.cells.empty() || !plot.contains(point)) return -1;
  const auto along = [](double at, double length, qsizetype cells) {
    return std::min(static_cast<int>(at / length * static_cast<double>(cells)), static_cast<int>(cells) - 1);
  };
  return along(point.y() - plot.top(), plot.height(), data_.rows.size()) *
             static_cast<int>(data_.columns.size()) +
         along(point.x() - plot.left(), plot.width(), data_.columns.size());
}

int HeatMap::neighbour(int item, int key) const {
  if (item < 0) return 0;
  const auto columns = static_cast<int>(data_.columns.size());
  const int column = item % columns;
  switch (key) {
    case Qt::Key_Left:
      return column > 0 ? item - 1 : item;
    case Qt::Key_Right:
      return column + 1 < columns ? item + 1 : item;
    case Qt::Key_Up:
      return item >= columns ? item - columns : item;
    default:
      return item + columns < itemCount() ? item + columns : item;
  }
}

QString HeatMap::describe(int item) const {
  const auto columns = static_cast<int>(data_.columns.size());
  const HeatMapCell& cell = data_.cells[static_cast<std::size_t>(item)];
  QString text = tr("%1 %2, %3 %4")
                     .arg(data_.row_title, data_.rows[item / columns], data_.column_title,
                          data_.columns[item % columns]);
  text += u'\n' + (cell.value ? tr("%1: %2").arg(data_.value_title, valueText(*cell.value)) : data_.nothing);
  return cell.words.isEmpty() ? text : text + u'\n' + cell.words;
}

QString HeatMap::textAlternative() const {
  return everyItem(tr("%1 over %2 and %3.").arg(data_.value_title, data_.row_title, data_.column_title));
}

QColor HeatMap::colorOf(double value) const {
  return PlotTheme::sequential(high_ > low_ ? (value - low_) / (high_ - low_) : 1.0);
}

void HeatMap::drawScale(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  const double top = kHeatMapMargin, box = top + (metrics.height() - kScaleHeight) / 2;
  double x = kHeatMapMargin;
  const auto write = [&](const QString& words) {
    painter.setPen(theme.text);
    painter.drawText(QPointF(x, top + metrics.ascent()), words);
    x += metrics.horizontalAdvance(words) + 6;
  };
  write(data_.value_title);
  if (low_ <= high_) {
    write(valueText(low_));
    if (low_ < high_) {
      for (int i = 0; i < static_cast<int>(kScaleWidth); ++i)
        painter.fillRect(QRectF(x + i, box, 1, kScaleHeight), PlotTheme::sequential(i / (kScaleWidth - 1)));
      x += kScaleWidth + 6;
      write(valueText(high_));
    }
  }
  const bool gaps = std::any_of(data_.cells.begin(), data_.cells.end(),
                                [](const HeatMapCell& cell) { return !cell.value.has_value(); });
  if (!gaps || x + 30 + metrics.horizontalAdvance(data_.nothing) > size.width()) return;
  x += 10;
  fillRect(painter, QRectF(x, box, 18, kScaleHeight), theme.of(Ink::Bubble));
  x += 24;
  write(data_.nothing);
}

void HeatMap::drawNames(QPainter& painter, const QRectF& plot, const PlotTheme& theme) const {
  const QFontMetricsF metrics(painter.font());
  painter.setPen(theme.text);
  const auto columns = static_cast<int>(data_.columns.size());
  for (int row = 0; row < static_cast<int>(data_.rows.size()); ++row) {
    const QRectF cell = cellRect(plot, row * columns);
    if (cell.height() < metrics.height() * 0.8 && row % 2 != 0) continue;
    painter.drawText(QRectF(0, cell.top(), plot.left() - 6, cell.height()), Qt::AlignRight | Qt::AlignVCenter,
                     data_.rows[row]);
  }
  double free_from = 0;
  for (int column = 0; column < columns; ++column) {
    const QRectF cell = cellRect(plot, column);
    const double width = metrics.horizontalAdvance(data_.columns[column]);
    if (cell.center().x() - width / 2 < free_from) continue;
    free_from = cell.center().x() + width / 2 + 6;
    painter.drawText(QPointF(cell.center().x() - width / 2, plot.bottom() + 3 + metrics.ascent()),
                     data_.columns[column]);
  }
  painter.setPen(theme.faint);
  painter.drawText(QRectF(plot.left(), plot.bottom() + 4 + metrics.height(), plot.width(), metrics.height()),
                   Qt::AlignRight, data_.column_title);
  painter.save();
  painter.translate(kHeatMapMargin, plot.bottom());
  painter.rotate(-90);
  painter.drawText(QRectF(0, 0, plot.height(), metrics.height()), Qt::AlignRight, data_.row_title);
  painter.restore();
}

void HeatMap::drawCell(QPainter& painter, const QRectF& box, const HeatMapCell& cell,
                       const PlotTheme& theme) const {
  const QRectF inside = box.adjusted(0, 0, -1, -1);  // a hair of background tells neighbours apart
  if (!cell.value) return fillRect(painter, inside, theme.of(Ink::Bubble));
  const QColor color = colorOf(*cell.value);
  painter.fillRect(inside, color);
  const QFontMetricsF metrics(painter.font());
  const QString text = valueText(*cell.value);
  if (metrics.horizontalAdvance(text) + 4 > inside.width() || metrics.height() > inside.height()) return;
  painter.setPen(Fill{.color = color, .line = color}.text());
  painter.drawText(inside, Qt::AlignCenter, text);
}

void HeatMap::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const QRectF plot = plotOf(size);
  drawScale(painter, size, theme);
  drawNames(painter, plot, theme);
  for (int item = 0; item < itemCount(); ++item)
    drawCell(painter, cellRect(plot, item), data_.cells[static_cast<std::size_t>(item)], theme);
}

void HeatMap::drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  if (currentItem() < 0) return;
  const QRectF box = cellRect(plotOf(size), currentItem()).adjusted(1, 1, -2, -2);
  painter.setBrush(Qt::NoBrush);
  // Seen on every colour of the scale.
  painter.setPen(QPen(theme.background, 4));
  painter.drawRect(box);
  painter.setPen(QPen(theme.focus, 2));
  painter.drawRect(box);
}

}  // namespace hexaplan::gui
