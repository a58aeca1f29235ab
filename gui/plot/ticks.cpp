#include "gui/plot/ticks.h"

#include <QLocale>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace hexaplan::gui {
namespace {

struct Prefix {
  double size;  // in the base unit
  const char* name;
};
constexpr std::array<Prefix, 6> kBinary{{{1, "B"},
                                         {1024.0, "KiB"},
                                         {1048576.0, "MiB"},
                                         {1073741824.0, "GiB"},
                                         {1099511627776.0, "TiB"},
                                         {1125899906842624.0, "PiB"}}};
constexpr std::array<Prefix, 6> kDecimal{
    {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}}};
constexpr std::array<Prefix, 7> kTime{
    {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}, {86400, "d"}}};
constexpr std::array<Prefix, 1> kPercent{{{0.01, "%"}}};
constexpr std::array<Prefix, 1> kPlain{{{1, ""}}};

std::span<const Prefix> prefixes(AxisUnit unit) {
  switch (unit) {
    case AxisUnit::BinaryBytes:
      return kBinary;
    case AxisUnit::DecimalBytes:
      return kDecimal;
    case AxisUnit::Seconds:
      return kTime;
    case AxisUnit::Percent:
      return kPercent;
    case AxisUnit::Plain:
      break;
  }
  return kPlain;
}

/// The largest prefix that leaves `value` at 1 or more; minutes only from ten of them on, so that a step of
/// 90 seconds stays in seconds.
const Prefix& prefixFor(AxisUnit unit, double value) {
  const auto table = prefixes(unit);
  const Prefix* best = &table.front();
  for (const Prefix& p : table) {
    const double least = unit == AxisUnit::Seconds && p.size >= 60 ? 10 * p.size : p.size;
    if (value >= least) best = &p;
  }
  return *best;
}

/// Smallest 1, 2 or 5 · 10^n that is at least `step`.
double roundStep(double step) {
  const double decade = std::pow(10.0, std::floor(std::log10(step)));
  for (const double m : {1.0, 2.0, 5.0}) {
    if (m * decade >= step * (1 - 1e-9)) return m * decade;
  }
  return 10 * decade;
}

QString digits(double value, double step) {
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return QLocale().toString(value == 0 ? 0.0 : value, 'f', decimals);
}

AxisTicks linearTicks(const Scale& scale, AxisUnit unit, double spacing) {
  const double most = std::max(1.0, std::floor(scale.length() / spacing));
  const double least_step = (scale.high() - scale.low()) / most;
  // The prefix follows what is seen, but a zoomed axis far from zero keeps the unit of its width.
  const Prefix& prefix = prefixFor(unit, std::min(std::max(std::abs(scale.low()), std::abs(scale.high())),
                                                  std::max(least_step * 1000, 1e-300)));
  double step = roundStep(least_step / prefix.size);
  if (unit == AxisUnit::BinaryBytes && prefix.size < 1073741824.0 && step > 1) {
    step = std::exp2(std::ceil(std::log2(least_step / prefix.size) - 1e-9));
  }
  AxisTicks out{{}, QString::fromUtf8(prefix.name), prefix.size};
  const double first = std::ceil(scale.low() / prefix.size / step - 1e-9);
  const double last = std::floor(scale.high() / prefix.size / step + 1e-9);
  for (double i = first; i <= last && out.ticks.size() < 1000; i += 1) {
    out.ticks.push_back({i * step * prefix.size, digits(i * step, step)});
  }
  return out;
}

AxisTicks logTicks(const Scale& scale, AxisUnit unit, double spacing) {
  const double decades = std::log10(scale.high() / scale.low());
  const Prefix& prefix = prefixFor(unit, std::sqrt(scale.low() * scale.high()));
  AxisTicks out{{}, QString::fromUtf8(prefix.name), prefix.size};
  const double room = scale.length() / std::max(decades, 1e-9) / spacing;  // labels per decade
  const auto stride = std::max(1.0, std::ceil(1 / room));
  const double low = scale.low() / prefix.size * (1 - 1e-9), high = scale.high() / prefix.size * (1 + 1e-9);
  for (double e = std::floor(std::log10(low)); e <= std::ceil(std::log10(high)); e += 1) {
    for (int m = 1; m <= 9; ++m) {
      const double value = m * std::pow(10.0, e);
      if (value < low || value > high) continue;
      // 1, 2, 5 when three labels fit into a decade, all when ten do, otherwise decades alone.
      const bool labelled =
          m == 1 ? std::fmod(std::abs(e), stride) == 0 : room >= 14 || (room >= 3.5 && (m == 2 || m == 5));
      if (m != 1 && room < 1) continue;
      out.ticks.push_back({value * prefix.size, labelled ? QLocale().toString(value, 'g', 6) : QString{}});
    }
  }
  return out;
}

}  // namespace

AxisTicks placeTicks(const Scale& scale, AxisUnit unit, double spacing) {
  return scale.kind() == ScaleKind::Log ? logTicks(scale, unit, spacing) : linearTicks(scale, unit, spacing);
}

QString withUnit(const QString& title, const AxisTicks& ticks) {
  return ticks.unit.isEmpty() ? title : QStringLiteral("%1 (%2)").arg(title, ticks.unit);
}

}  // namespace hexaplan::gui
