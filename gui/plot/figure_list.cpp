#include "gui/plot/figure_list.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cassert>
#include <cmath>

namespace hexaplan::gui {
namespace {

constexpr double kMargin = 10;
constexpr double kGap = 10;  // between columns
constexpr double kNarrowest = 270, kWidest = 380;

QFont bold(QFont font) {
  font.setBold(true);
  return font;
}

}  // namespace

FigureList::FigureList(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Figures"));
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
}

void FigureList::setFigures(const std::vector<Figure>& figures, const std::vector<Figure>& baseline) {
  assert(baseline.empty() || baseline.size() == figures.size());
  rows_.clear();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& figure = figures[i];
    if (!figure.value) continue;
    Row row{figure.name, figure.meaning, cellText(*figure.value, figure.unit, byteUnit()), {}};
    if (!baseline.empty() && baseline[i].value) row.change = changeText(*baseline[i].value, *figure.value);
    rows_.push_back(std::move(row));
  }
  updateGeometry();
  dataChanged();
}

double FigureList::changesWidth() const {
  const QFontMetricsF metrics(smallFont());
  double widest = 0;
  for (const Row& row : rows_) widest = std::max(widest, metrics.horizontalAdvance(row.change));
  return widest > 0 ? widest + kGap : 0;
}

QSize FigureList::sizeHint() const {
  const QFontMetricsF names(smallFont()), values(bold(smallFont()));
  double widest = 0;
  for (const Row& row : rows_)
    widest = std::max(widest, names.horizontalAdvance(row.name) + kGap + values.horizontalAdvance(row.value));
  const double width = std::clamp(widest + changesWidth() + 2 * kMargin, kNarrowest, kWidest);
  return {static_cast<int>(std::ceil(width)), 300};
}

QSize FigureList::minimumSizeHint() const {
  const double rows = QFontMetricsF(smallFont()).height() * itemCount();
  return {sizeHint().width(), static_cast<int>(std::ceil(rows + 2 * kMargin))};
}

QString FigureList::describe(int item) const {
  const Row& row = rows_[static_cast<std::size_t>(item)];
  const QString change = row.change.isEmpty() ? QString{} : QStringLiteral(" (%1)").arg(row.change);
  return QStringLiteral("%1: %2%3\n%4").arg(row.name, row.value, change, row.meaning);
}

QString FigureList::textAlternative() const {
  return everyItem();
}

double FigureList::rowHeight(double height) const {
  const double roomy = std::ceil(QFontMetricsF(smallFont()).height() * 1.3);
  return std::min(roomy, (height - 2 * kMargin) / std::max(1, itemCount()));
}

int FigureList::itemAt(const QPointF& point) const {
  const double row = (point.y() - kMargin) / rowHeight(height());
  return row >= 0 && row < itemCount() ? static_cast<int>(row) : -1;
}

QRectF FigureList::itemRect(int item) const {
  const double row = rowHeight(height());
  return {kMargin, kMargin + item * row, width() - 2 * kMargin, row};
}

void FigureList::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  const QFont plain = smallFont(), strong = bold(plain);
  const QFontMetricsF metrics(plain), values(strong);
  const double right = size.width() - kMargin - changesWidth();
  const double height = rowHeight(size.height());
  const auto column = [&](double from, double to, std::size_t row) {
    return QRectF(from, kMargin + static_cast<double>(row) * height, to - from, height);
  };
  if (currentItem() >= 0)
    painter.fillRect(column(0, size.width(), static_cast<std::size_t>(currentItem())), theme.grid);
  constexpr int left_text = Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip;
  constexpr int right_text = Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip;
  painter.setFont(plain);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    painter.setPen(theme.faint);
    const double free = right - kMargin - kGap - values.horizontalAdvance(rows_[i].value);
    painter.drawText(column(kMargin, right, i), left_text,
                     metrics.elidedText(rows_[i].name, Qt::ElideRight, free));
    painter.setPen(theme.text);
    if (!rows_[i].change.isEmpty())
      painter.drawText(column(right, size.width() - kMargin, i), right_text, rows_[i].change);
  }
  painter.setFont(strong);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    painter.drawText(column(kMargin, right, i), right_text, rows_[i].value);
}

}  // namespace hexaplan::gui
