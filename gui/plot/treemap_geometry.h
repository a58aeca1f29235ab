#pragma once
#include <QRectF>
#include <vector>

namespace hexaplan::gui {

/// Rectangles with areas in proportion to `sizes` that fill `area`, as square as it goes: squarified treemap
/// (Bruls, Huizing, van Wijk 2000). Sizes descending and not negative; those of 0 get an empty rectangle.
[[nodiscard]] std::vector<QRectF> squarify(const std::vector<double>& sizes, const QRectF& area);

}  // namespace hexaplan::gui
