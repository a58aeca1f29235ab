#include "gui/plot/treemap_geometry.h"

#include <algorithm>
#include <numeric>

namespace hexaplan::gui {
namespace {

/// Worst ratio of sides among `sizes[first, last)` laid along a side of length `side`, areas scaled by
/// `scale`.
double worstRatio(const std::vector<double>& sizes, std::size_t first, std::size_t last, double side,
                  double scale) {
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += sizes[i] * scale;
  const double thickness = sum / side;
  double worst = 1;
  for (std::size_t i = first; i < last; ++i) {
    const double length = sizes[i] * scale / thickness;
    worst = std::max({worst, length / thickness, thickness / length});
  }
  return worst;
}

}  // namespace

std::vector<QRectF> squarify(const std::vector<double>& sizes, const QRectF& area) {
  std::vector<QRectF> out(sizes.size());
  const auto positive = static_cast<std::size_t>(
      std::find_if(sizes.begin(), sizes.end(), [](double s) { return !(s > 0); }) - sizes.begin());
  const double total =
      std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(positive), 0.0);
  if (positive == 0 || area.width() <= 0 || area.height() <= 0) return out;
  const double scale = area.width() * area.height() / total;
  QRectF left = area;
  for (std::size_t first = 0; first < positive;) {
    const bool upright = left.width() >= left.height();  // a column at the left, else a row at the top
    const double side = upright ? left.height() : left.width();
    std::size_t last = first + 1;
    if (side <= 0) break;
    double worst = worstRatio(sizes, first, last, side, scale);
    while (last < positive) {
      const double next = worstRatio(sizes, first, last + 1, side, scale);
      if (next > worst) break;
      worst = next;
      ++last;
    }
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += sizes[i] * scale;
    const double thickness = last == positive ? (upright ? left.width() : left.height()) : sum / side;
    double along = 0;
    for (std::size_t i = first; i < last; ++i) {
      const double length = side * sizes[i] * scale / sum;
      out[i] = upright ? QRectF(left.left(), left.top() + along, thickness, length)
                       : QRectF(left.left() + along, left.top(), length, thickness);
      along += length;
    }
    if (upright) {
      left.setLeft(left.left() + thickness);
    } else {
      left.setTop(left.top() + thickness);
    }
    first = last;
  }
  return out;
}

}  // namespace hexaplan::gui
