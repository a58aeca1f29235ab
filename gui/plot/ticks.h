#pragma once
#include <QString>
#include <cstdint>
#include <vector>

#include "gui/plot/scale.h"

namespace hexaplan::gui {

/// What the numbers of an axis are. Bytes and seconds choose the prefix that suits the whole axis.
enum class AxisUnit : std::uint8_t { Plain, BinaryBytes, DecimalBytes, Seconds, Percent };

struct Tick {
  double value = 0;  // in the axis' base unit: bytes, seconds, share
  QString label;     // digits in AxisTicks::unit; empty for unlabelled ticks of a logarithmic axis
};

struct AxisTicks {
  std::vector<Tick> ticks;  // ascending, inside the scale
  QString unit;             // "GiB", "ms", "%"; empty for plain numbers
  double unit_size = 1;     // of that unit in the axis' base unit
};

/// Letters that a label along a horizontal axis has room for: the same everywhere, so that charts below each
/// other have the same ticks.
inline constexpr double kTickLetters = 9;

/// Round values inside the scale, at most one per `spacing` pixels: multiples of 1, 2 or 5 · 10^n of the unit
/// (linear; binary bytes below a GiB: powers of two), decades with 2 and 5 between them where there is room
/// (logarithmic).
[[nodiscard]] AxisTicks placeTicks(const Scale& scale, AxisUnit unit, double spacing);

/// The title of an axis with its unit: "memory (GiB)".
[[nodiscard]] QString withUnit(const QString& title, const AxisTicks& ticks);

}  // namespace hexaplan::gui
