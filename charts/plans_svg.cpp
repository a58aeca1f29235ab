#include "charts/plans_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "charts/axis.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::charts {

using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::Seconds;

namespace {

constexpr double kPlansWidth = 900, kPlansHeight = 420, kPlansLeft = 92, kPlansRight = 24, kPlansTop = 40,
                 kPlansBottom = 84;

/// Cividis (Nuñez, Anderton, Renslow 2018, doi:10.1371/journal.pone.0199239) from dark to light, and the
/// shape: no meaning depends on colour alone.
struct RiskClass {
  double most;
  std::string_view fill, words;
  int corners;  // 0: a circle
};
constexpr std::array<RiskClass, 4> kClasses{{{0.01, "#0072b2", "≤ 1 %", 0},
                                             {0.05, "#56b4e9", "≤ 5 %", 4},
                                             {0.25, "#e69f00", "≤ 25 %", 3},
                                             {1.00, "#d55e00", "above", 2}}};

const RiskClass& class_of(double risk) {
  return *std::find_if(kClasses.begin(), kClasses.end() - 1,
                       [&](const RiskClass& c) { return risk <= c.most; });
}

/// Circle, square, triangle or cross around a point.
void draw_mark(SvgWriter& svg, double x, double y, double size, const RiskClass& risk) {
  const auto p = [](double value) { return pixels(value); };
  switch (risk.corners) {
    case 4:
      return svg.rectangle({x - size, y - size, 2 * size, 2 * size}, risk.fill);
    case 3:
      return svg.path(fmt::format("M{} {}L{} {}L{} {}Z", p(x), p(y - size), p(x + size), p(y + size),
                                  p(x - size), p(y + size)),
                      risk.fill, {});
    case 2:
      svg.line(x - size, y - size, x + size, y + size, risk.fill);
      return svg.line(x - size, y + size, x + size, y - size, risk.fill);
    default:
      return svg.path(fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0Z", p(x - size), p(y),
                                  p(size), p(2 * size)),
                      risk.fill, {});
  }
}

/// Memory upwards.
struct MemoryAxis {
  Bytes low, high;
  [[nodiscard]] double y(Bytes at) const {
    const Bytes whole = high - low;
    const double share = whole > Bytes{} ? (at - low) / whole : 0.5;
    return kPlansHeight - kPlansBottom - share * (kPlansHeight - kPlansBottom - kPlansTop);
  }
};

/// Of both axes, with a margin.
std::pair<TimeAxis, MemoryAxis> axes_of(const std::vector<PlanPoint>& points) {
  constexpr double kMargin = 0.06;
  const auto [fast, slow] = std::minmax_element(points.begin(), points.end(),
                                                [](const auto& a, const auto& b) { return a.step < b.step; });
  const auto [small, large] = std::minmax_element(
      points.begin(), points.end(), [](const auto& a, const auto& b) { return a.peak < b.peak; });
  const Seconds time = larger(slow->step - fast->step, fast->step * 0.02) * kMargin;
  const Bytes memory = larger(large->peak - small->peak, small->peak * 0.02) * kMargin;
  return {TimeAxis{fast->step - time, slow->step + time, kPlansLeft, kPlansWidth - kPlansLeft - kPlansRight},
          MemoryAxis{small->peak - memory, large->peak + memory}};
}

void draw_memory_axis(SvgWriter& svg, const MemoryAxis& axis) {
  constexpr int kTicks = 5;
  for (int i = 0; i < kTicks; ++i) {
    const Bytes at = axis.low + (axis.high - axis.low) * (static_cast<double>(i) / (kTicks - 1));
    svg.line(kPlansLeft, axis.y(at), kPlansWidth - kPlansRight, axis.y(at), "#d9d9d9");
    svg.text(kPlansLeft - 8, axis.y(at) + 4, format_binary(at), 12, Anchor::End);
  }
}

void draw_plan_kinds(SvgWriter& svg) {
  double x = kPlansLeft;
  const double y = kPlansHeight - 14;
  svg.text(x, y, "chance of running out of memory", 12);
  x += 214;
  for (const RiskClass& risk : kClasses) {
    draw_mark(svg, x, y - 4, 5, risk);
    svg.text(x + 12, y, risk.words, 12);
    x += 84;
  }
}

}  // namespace

std::string plans_svg(const std::vector<PlanPoint>& points, Bytes capacity, std::string_view title,
                      Ground ground) {
  const auto [time, memory] = axes_of(points);
  SvgWriter svg{kPlansWidth, kPlansHeight, "Plans by step time and memory",
                fmt::format("{}: {} plans, step time across, peak memory upwards", title, points.size()),
                ground};
  svg.text(kPlansLeft, 20, title, 15);
  draw_memory_axis(svg, memory);
  draw_axis(svg, time, kPlansTop, kPlansHeight - kPlansBottom);
  if (capacity > memory.low && capacity < memory.high) {
    svg.line(kPlansLeft, memory.y(capacity), kPlansWidth - kPlansRight, memory.y(capacity), "#d55e00", "6 3");
    svg.text(kPlansWidth - kPlansRight, memory.y(capacity) - 4, "can be used", 12, Anchor::End, "#d55e00");
  }
  for (const bool listed : {false, true}) {
    for (const PlanPoint& point : points) {
      if (point.listed != listed) continue;
      const double x = time.x(point.step), y = memory.y(point.peak);
      draw_mark(svg, x, y, listed ? 6 : 3, class_of(point.risk));
      if (listed) svg.text(x + 9, y + 4, fmt::format("{}", point.number), 12);
    }
  }
  draw_plan_kinds(svg);
  return svg.take();
}

}  // namespace hexaplan::charts
