#include "gui/plot/fill_rect.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

namespace hexaplan::gui {
namespace {

void appendRising(const QRectF& r, std::vector<QLineF>& out) {  // x + y = c
  for (double c = std::ceil((r.left() + r.top()) / kHatchSpacing) * kHatchSpacing; c < r.right() + r.bottom();
       c += kHatchSpacing) {
    const double x0 = std::max(r.left(), c - r.bottom()), x1 = std::min(r.right(), c - r.top());
    if (x1 > x0) out.emplace_back(x0, c - x0, x1, c - x1);
  }
}

void appendFalling(const QRectF& r, std::vector<QLineF>& out) {  // x - y = c
  for (double c = std::ceil((r.left() - r.bottom()) / kHatchSpacing) * kHatchSpacing; c < r.right() - r.top();
       c += kHatchSpacing) {
    const double x0 = std::max(r.left(), c + r.top()), x1 = std::min(r.right(), c + r.bottom());
    if (x1 > x0) out.emplace_back(x0, x0 - c, x1, x1 - c);
  }
}

void appendHorizontal(const QRectF& r, std::vector<QLineF>& out) {
  for (double y = std::ceil(r.top() / kHatchSpacing) * kHatchSpacing; y < r.bottom(); y += kHatchSpacing) {
    out.emplace_back(r.left(), y, r.right(), y);
  }
}

void appendVertical(const QRectF& r, std::vector<QLineF>& out) {
  for (double x = std::ceil(r.left() / kHatchSpacing) * kHatchSpacing; x < r.right(); x += kHatchSpacing) {
    out.emplace_back(x, r.top(), x, r.bottom());
  }
}

}  // namespace

std::vector<QLineF> hatchLines(const QRectF& rect, Pattern pattern) {
  std::vector<QLineF> lines;
  switch (pattern) {
    case Pattern::Solid:
      break;
    case Pattern::Rising:
      appendRising(rect, lines);
      break;
    case Pattern::Falling:
      appendFalling(rect, lines);
      break;
    case Pattern::Horizontal:
      appendHorizontal(rect, lines);
      break;
    case Pattern::Vertical:
      appendVertical(rect, lines);
      break;
    case Pattern::Crossed:
      appendRising(rect, lines);
      appendFalling(rect, lines);
      break;
  }
  return lines;
}

void fillRect(QPainter& painter, const QRectF& rect, const Fill& fill) {
  if (rect.width() <= 0 || rect.height() <= 0) return;
  painter.fillRect(rect, fill.color);
  if (fill.pattern == Pattern::Solid || rect.width() < 3 || rect.height() < 3) return;
  const std::vector<QLineF> lines = hatchLines(rect, fill.pattern);
  if (lines.empty()) return;
  painter.save();
  painter.setPen(QPen(fill.line, 1.0, Qt::SolidLine, Qt::FlatCap));
  painter.drawLines(lines.data(), static_cast<int>(lines.size()));
  painter.restore();
}

}  // namespace hexaplan::gui
