#pragma once
#include <QString>

#include "gui/models/number_text.h"
#include "gui/plot/ticks.h"

namespace hexaplan::gui {

/// `unit`, with bytes of either kind as those of `bytes`.
[[nodiscard]] AxisUnit inBytesOf(AxisUnit unit, ByteUnit bytes);

/// One value of an axis with its unit.
[[nodiscard]] QString unitText(double value, AxisUnit unit);

}  // namespace hexaplan::gui
