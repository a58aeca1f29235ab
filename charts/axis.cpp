#include "charts/axis.h"

#include <fmt/format.h>

#include <cmath>

namespace hexaplan::charts {

using costmodel::Seconds;

namespace {

/// The largest of 1, 2, 5 · 10^n that is not above `step`, or the next one.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (step <= factor * power) return factor * power;
  }
  return 10 * power;
}

struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit unit_for(double longest) {
  constexpr TimeUnit kUnits[] = {{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}};
  for (const TimeUnit& unit : kUnits) {
    if (longest >= unit.seconds) return unit;
  }
  return {"ns", 1e-9};
}

}  // namespace

Ticks ticks_of(Seconds begin, Seconds end, int wanted) {
  const double whole = (end - begin).value();
  if (!(whole > 0) || wanted < 1) return {"s", {}};
  const TimeUnit unit = unit_for(end.value());
  Ticks ticks{.unit = unit.name};
  const double step = round_step(whole / wanted);
  const auto first = static_cast<std::int64_t>(std::ceil(begin.value() / step - 1e-9));
  const auto last = static_cast<std::int64_t>(std::floor(end.value() / step + 1e-9));
  for (std::int64_t i = first; i <= last; ++i) {
    const double at = static_cast<double>(i) * step;
    ticks.ticks.push_back({Seconds{at}, fmt::format("{:.6g}", at / unit.seconds)});
  }
  return ticks;
}

void draw_axis(SvgWriter& svg, const TimeAxis& axis, double top, double bottom) {
  const Ticks ticks = ticks_of(axis.begin, axis.end, static_cast<int>(axis.width / 110));
  for (const Tick& tick : ticks.ticks) {
    const double x = axis.x(tick.at);
    svg.line(x, top, x, bottom, "#d9d9d9");
    svg.text(x, bottom + 16, tick.label, 12, Anchor::Middle);
  }
  svg.text(axis.left + axis.width / 2, bottom + 34, fmt::format("time [{}]", ticks.unit), 12, Anchor::Middle);
}

}  // namespace hexaplan::charts
