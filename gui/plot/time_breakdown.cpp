#include "gui/plot/time_breakdown.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/models/terms.h"
#include "gui/plot/fill_rect.h"

namespace hexaplan::gui {
namespace {

constexpr double kTimeBreakdownMargin = 10;
constexpr double kTimeBreakdownGap = 12;  // between columns

Ink inkOfTerm(int term) {
  return static_cast<Ink>(static_cast<int>(Ink::Gemm) + term);
}
double secondsOf(const costmodel::StepTime& time, int term) {
  return (time.*timeTerms()[static_cast<std::size_t>(term)].member).value();
}

}  // namespace

TimeBreakdown::TimeBreakdown(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Where the step's time goes"));
  setWhatsThis(tr("Every cause of the step time, one after the other. Up and down go from cause to cause."));
}

void TimeBreakdown::setTime(const costmodel::StepTime& time, const costmodel::Interval& interval) {
  time_ = time;
  interval_ = interval;
  rebuild();
}

void TimeBreakdown::setBaseline(const std::optional<costmodel::StepTime>& baseline) {
  baseline_ = baseline;
  rebuild();
}

void TimeBreakdown::clear() {
  time_.reset();
  rebuild();
}

void TimeBreakdown::rebuild() {
  rows_.clear();
  if (time_) {
    const double before = baseline_ ? baseline_->total().value() : 0;
    rows_.push_back({-1, 0, time_->total().value(), before});
    double begin = 0;
    for (int term = 0; term < static_cast<int>(timeTerms().size()); ++term) {
      const double seconds = secondsOf(*time_, term);
      const double was = baseline_ ? secondsOf(*baseline_, term) : 0;
      if (seconds > 0 || was > 0) rows_.push_back({term, begin, seconds, was});
      begin += seconds;
    }
  }
  updateGeometry();
  dataChanged();
}

QString TimeBreakdown::label(const Row& row) const {
  return row.term < 0 ? tr("one step") : labelOf(timeTerms()[static_cast<std::size_t>(row.term)]);
}

std::array<QString, 3> TimeBreakdown::numbers(const Row& row) const {
  std::array<QString, 3> out{secondsText(costmodel::Seconds{row.seconds})};
  if (row.term >= 0) out[1] = percentText(row.seconds / time_->total().value());
  if (baseline_) {
    const double change = row.seconds - row.baseline;
    out[2] = signedText(change, secondsText(costmodel::Seconds{std::abs(change)}));
  }
  return out;
}

QString TimeBreakdown::describe(int item) const {
  const Row& row = rows_[static_cast<std::size_t>(item)];
  QString out = tr("%1: %2").arg(label(row), secondsText(costmodel::Seconds{row.seconds}));
  if (row.term < 0) {
    if (interval_.high > 0) {
      out += tr("\n90 % interval: %1 to %2")
                 .arg(secondsText(costmodel::Seconds{interval_.low}),
                      secondsText(costmodel::Seconds{interval_.high}));
    }
  } else {
    out += tr(", %1 of the step").arg(percentText(row.seconds / time_->total().value()));
    out += u'\n' + explain(timeTerms()[static_cast<std::size_t>(row.term)]);
  }
  if (baseline_) {
    const double change = row.seconds - row.baseline;
    const QString relative = changeText(row.baseline, row.seconds);
    out += tr("\nbaseline: %1 (%2)")
               .arg(secondsText(costmodel::Seconds{row.baseline}),
                    signedText(change, secondsText(costmodel::Seconds{std::abs(change)})) +
                        (relative.isEmpty() ? QString{} : QStringLiteral(", ") + relative));
  }
  return out;
}

QSize TimeBreakdown::minimumSizeHint() const {
  const double rows = itemCount() * QFontMetricsF(smallFont()).height();
  constexpr int kNarrowest = 220;  // beside the page's numbers and a scroll bar on 1024 pixels
  return {kNarrowest, std::max(PlotView::minimumSizeHint().height(),
                               static_cast<int>(std::ceil(rows + 2 * kTimeBreakdownMargin)))};
}

QString TimeBreakdown::textAlternative() const {
  return everyItem();
}

TimeBreakdown::Layout TimeBreakdown::layout(const QSizeF& size) const {
  const QFontMetricsF metrics(smallFont());
  Layout out;
  for (const Row& row : rows_) {
    out.labels = std::max(out.labels, metrics.horizontalAdvance(label(row)));
    const auto texts = numbers(row);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!texts[i].isEmpty())
        out.numbers[i] = std::max(out.numbers[i], metrics.horizontalAdvance(texts[i]) + kTimeBreakdownGap);
    }
  }
  constexpr double tallest = 34;
  out.row_height = std::min(
      tallest, (size.height() - 2 * kTimeBreakdownMargin) / static_cast<double>(std::max(1, itemCount())));
  out.bar_height = std::max(2.0, out.row_height * 0.66);
  out.left = kTimeBreakdownMargin + out.labels + kTimeBreakdownGap;
  constexpr double shortest = 20;  // room for the bars
  const auto beside = [&] { return out.numbers[0] + out.numbers[1] + out.numbers[2]; };
  // On narrow pages the shares give way: times and differences are never cut.
  if (size.width() - kTimeBreakdownMargin - beside() < out.left + shortest) out.numbers[1] = 0;
  out.right = std::max(size.width() - kTimeBreakdownMargin - beside(), out.left + shortest);
  out.longest =
      std::max({time_->total().value(), interval_.high, baseline_ ? baseline_->total().value() : 0.0, 1e-12});
  return out;
}

int TimeBreakdown::itemAt(const QPointF& point) const {
  const double row = (point.y() - kTimeBreakdownMargin) / layout(size()).row_height;
  return row >= 0 && row < itemCount() ? static_cast<int>(row) : -1;
}

QRectF TimeBreakdown::itemRect(int item) const {
  const Layout at = layout(size());
  return {kTimeBreakdownMargin, kTimeBreakdownMargin + item * at.row_height,
          width() - 2 * kTimeBreakdownMargin, at.row_height};
}

void TimeBreakdown::drawTotal(QPainter& painter, const Layout& at, const QRectF& bar,
                              const PlotTheme& theme) const {
  const double scale = (at.right - at.left) / at.longest;
  for (const Row& row : rows_) {
    if (row.term < 0) continue;
    fillRect(painter, QRectF(at.left + row.begin * scale, bar.top(), row.seconds * scale, bar.height()),
             theme.of(inkOfTerm(row.term)));
  }
  if (interval_.high <= 0) return;
  const double low = at.left + interval_.low * scale, high = at.left + interval_.high * scale;
  const double middle = bar.center().y(), half = bar.height() / 4;
  painter.setPen(QPen(theme.text, 1.4));
  painter.drawLines({QLineF(low, middle, high, middle), QLineF(low, middle - half, low, middle + half),
                     QLineF(high, middle - half, high, middle + half)});
}

void TimeBreakdown::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const Layout at = layout(size);
  const double scale = (at.right - at.left) / at.longest;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const QRectF line(kTimeBreakdownMargin, kTimeBreakdownMargin + static_cast<double>(i) * at.row_height,
                      size.width() - 2 * kTimeBreakdownMargin, at.row_height);
    const bool current = static_cast<int>(i) == currentItem();
    if (current) painter.fillRect(line.adjusted(-4, 0, 4, 0), theme.grid);
    const double left = at.left + row.begin * scale;
    const QRectF bar(left, line.center().y() - at.bar_height / 2, row.seconds * scale, at.bar_height);
    if (row.term < 0) {
      drawTotal(painter, at, bar, theme);
    } else {
      fillRect(painter, bar.width() < 1.5 ? QRectF(bar.left(), bar.top(), 1.5, bar.height()) : bar,
               theme.of(inkOfTerm(row.term)));
    }
    if (baseline_) {
      painter.setPen(QPen(theme.baseline, 1.2, Qt::DashLine));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(left, bar.top() - 2, row.baseline * scale, bar.height() + 4));
    }
    painter.setPen(row.term < 0 ? theme.text : theme.faint);
    painter.drawText(QRectF(kTimeBreakdownMargin, line.top(), at.labels + 1, line.height()),
                     Qt::AlignRight | Qt::AlignVCenter, label(row));
    painter.setPen(theme.text);
    double right = at.right;
    const auto texts = numbers(row);
    for (std::size_t column = 0; column < texts.size(); ++column) {
      if (at.numbers[column] <= 0) continue;
      painter.drawText(QRectF(right, line.top(), at.numbers[column], line.height()),
                       Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, texts[column]);
      right += at.numbers[column];
    }
  }
}

}  // namespace hexaplan::gui
