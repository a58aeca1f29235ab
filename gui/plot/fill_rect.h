#pragma once
#include <QLineF>
#include <QRectF>
#include <vector>

#include "gui/plot/plot_theme.h"

class QPainter;

namespace hexaplan::gui {

/// Distance between the lines of a pattern, pixels.
inline constexpr double kHatchSpacing = 6;

/// The lines of `pattern` inside `rect`. They are cut from one grid over the whole chart, so that neighbours
/// of one meaning join. Geometry instead of a texture: exported as vectors, and the same at every scale.
[[nodiscard]] std::vector<QLineF> hatchLines(const QRectF& rect, Pattern pattern);

/// Fills `rect` with colour and pattern.
void fillRect(QPainter& painter, const QRectF& rect, const Fill& fill);

}  // namespace hexaplan::gui
