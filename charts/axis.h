#pragma once
#include <string>
#include <vector>

#include "charts/svg.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::charts {

/// Time on a horizontal axis.
struct TimeAxis {
  costmodel::Seconds begin, end;
  double left = 0, width = 0;  // pixels
  [[nodiscard]] double x(costmodel::Seconds at) const {
    const costmodel::Seconds whole = end - begin;
    return whole > costmodel::Seconds{} ? left + (at - begin) / whole * width : left;
  }
};

struct Tick {
  costmodel::Seconds at;
  std::string label;  // "1.5"; the unit stands at the axis
};
struct Ticks {
  std::string unit;  // "s", "ms", "µs"
  std::vector<Tick> ticks;
};
/// Round values between begin and end, about `wanted` of them.
[[nodiscard]] Ticks ticks_of(costmodel::Seconds begin, costmodel::Seconds end, int wanted);

/// Lines from `top` to `bottom` with labels below, and the axis' name.
void draw_axis(SvgWriter& svg, const TimeAxis& axis, double top, double bottom);

}  // namespace hexaplan::charts
