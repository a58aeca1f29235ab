#pragma once
#include <QString>

#include "gui/plot/ticks.h"

namespace hexaplan::gui {

/// One value of an axis with its unit.
[[nodiscard]] QString unitText(double value, AxisUnit unit);

}  // namespace hexaplan::gui
