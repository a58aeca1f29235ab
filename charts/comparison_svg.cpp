#include "charts/comparison_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "charts/svg.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::charts {
namespace {

// Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), where the page has no colours of its own.
constexpr std::string_view kPredicted = "var(--predicted, #e69f00)";
constexpr std::string_view kMeasured = "var(--measured, #0072b2)";
constexpr std::string_view kInk = "currentColor";
constexpr std::string_view kGrid = "var(--grid, #d9d9d9)";
constexpr std::string_view kNoPage = "none";

std::string text_of(double value, Measure measure) {
  return measure == Measure::Seconds ? costmodel::format_duration(costmodel::Seconds{value})
                                     : costmodel::format_binary(costmodel::Bytes{value});
}

/// UTF-8 letters.
double letters(std::string_view text) {
  return static_cast<double>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

double longest_label(const std::vector<ComparedPoint>& rows) {
  double longest = 0;
  for (const ComparedPoint& row : rows) longest = std::max(longest, letters(row.label));
  return longest * kLetterWidth;
}

/// One logarithmic axis for both directions.
struct LogScale {
  double low = 1, high = 10, length = 1;
  [[nodiscard]] double at(double value) const {
    return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low)) * length;
  }
};

/// 1, 2 and 5 times powers of ten (bytes: powers of two) between low and high.
std::vector<double> ticks_between(double low, double high, Measure measure) {
  std::vector<double> ticks;
  if (measure == Measure::Bytes) {
    const int step = std::max(1, static_cast<int>(std::ceil(std::log2(high / low) / 8)));
    for (int e = static_cast<int>(std::ceil(std::log2(low))); e <= std::log2(high) + 1e-9; e += step)
      ticks.push_back(std::exp2(e));
    return ticks;
  }
  const bool few = std::log10(high / low) > 3;
  for (int e = static_cast<int>(std::floor(std::log10(low))); e <= std::log10(high); ++e) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10.0, e);
      if (tick >= low && tick <= high && (factor == 1.0 || !few)) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<ComparedPoint> positive(std::vector<ComparedPoint> points) {
  std::erase_if(points, [](const ComparedPoint& p) { return !(p.predicted > 0 && p.measured > 0); });
  return points;
}

LogScale scale_of(const std::vector<ComparedPoint>& points, double length) {
  constexpr double kMargin = 1.25;
  LogScale scale{.low = points.front().measured, .high = points.front().measured, .length = length};
  for (const ComparedPoint& p : points) {
    for (const double value :
         {p.predicted, p.measured, p.low > 0 ? p.low : p.predicted, p.high > 0 ? p.high : p.predicted}) {
      scale.low = std::min(scale.low, value);
      scale.high = std::max(scale.high, value);
    }
  }
  scale.low /= kMargin;
  scale.high *= kMargin;
  return scale;
}

std::string tip(const ComparedPoint& p, Measure measure) {
  return fmt::format("{}: predicted {}, measured {}, {}", p.label, text_of(p.predicted, measure),
                     text_of(p.measured, measure),
                     costmodel::format_signed_percent(p.predicted / p.measured - 1));
}

}  // namespace

std::string scatter_svg(const std::vector<ComparedPoint>& all, Measure measure, std::string_view title) {
  constexpr double kSide = 380, kLeft = 92, kTop = 28, kMark = 4.5;
  const std::vector<ComparedPoint> points = positive(all);
  SvgWriter svg{kLeft + kSide + 24, kTop + kSide + 56, title,
                fmt::format("{} points, measured across and predicted upwards on logarithmic axes; on the "
                            "diagonal both are equal",
                            points.size()),
                kNoPage};
  svg.text(kLeft, 16, title, 14, Anchor::Start, kInk);
  if (points.empty()) {
    svg.text(kLeft, kTop + 40, "nothing was compared", 12, Anchor::Start, kInk);
    return svg.take();
  }
  const LogScale scale = scale_of(points, kSide);
  const auto x = [&](double value) { return kLeft + scale.at(value); };
  const auto y = [&](double value) { return kTop + kSide - scale.at(value); };
  for (const double tick : ticks_between(scale.low, scale.high, measure)) {
    svg.line(x(tick), kTop, x(tick), kTop + kSide, kGrid);
    svg.line(kLeft, y(tick), kLeft + kSide, y(tick), kGrid);
    svg.text(x(tick), kTop + kSide + 16, text_of(tick, measure), 11, Anchor::Middle, kInk);
    svg.text(kLeft - 8, y(tick) + 4, text_of(tick, measure), 11, Anchor::End, kInk);
  }
  svg.line(x(scale.low), y(scale.low), x(scale.high), y(scale.high), kInk);
  for (const double factor : {1 / 1.05, 1.05}) {  // five per cent to either side
    const double low = factor > 1 ? scale.low : scale.low / factor;
    const double high = factor > 1 ? scale.high / factor : scale.high;
    svg.line(x(low), y(low * factor), x(high), y(high * factor), kInk, "3 4");
  }
  for (const ComparedPoint& p : points) {
    if (p.high > p.low) svg.line(x(p.measured), y(p.low), x(p.measured), y(p.high), kPredicted);
    const Box mark{x(p.measured) - kMark, y(p.predicted) - kMark, 2 * kMark, 2 * kMark};
    svg.rectangle(mark, kMeasured, p.held_out ? 1 : 0.35, tip(p, measure));
    svg.outline(mark, kMeasured);
  }
  svg.text(kLeft + kSide / 2, kTop + kSide + 40, "measured (predicted upwards; dashed: 5 % off)", 12,
           Anchor::Middle, kInk);
  return svg.take();
}

std::string paired_bars_svg(const std::vector<ComparedPoint>& rows, Measure measure, std::string_view title) {
  constexpr double kWidth = 360, kRow = 38, kBar = 13, kTop = 28;
  const double left = std::max(longest_label(rows), 60.0) + 16;
  double most = 0;
  for (const ComparedPoint& row : rows) most = std::max({most, row.predicted, row.measured});
  const double height = kTop + kRow * static_cast<double>(rows.size()) + 24;
  SvgWriter svg{left + kWidth + 160, height, title,
                fmt::format("{} pairs of bars: predicted above, measured below", rows.size()), kNoPage};
  svg.text(0, 16, title, 14, Anchor::Start, kInk);
  double top = kTop;
  for (const ComparedPoint& row : rows) {
    svg.text(left - 8, top + kBar + 4, row.label, 12, Anchor::End, kInk);
    const std::pair<double, std::string_view> bars[] = {{row.predicted, kPredicted},
                                                        {row.measured, kMeasured}};
    double at = top;
    for (const auto& [value, colour] : bars) {
      const double width = most > 0 ? value / most * kWidth : 0;
      svg.rectangle({left, at, std::max(width, 0.5), kBar - 1}, colour, 1, row.label);
      std::string words = text_of(value, measure);
      if (at > top && row.measured > 0 && row.predicted > 0)
        words += ", predicted " + costmodel::format_signed_percent(row.predicted / row.measured - 1);
      svg.text(left + width + 6, at + kBar - 3, words, 11, Anchor::Start, kInk);
      at += kBar;
    }
    top += kRow;
  }
  svg.line(left, kTop - 4, left, top - 8, kInk);
  svg.rectangle({left, top, 10, 10}, kPredicted);
  svg.text(left + 14, top + 9, "predicted", 11, Anchor::Start, kInk);
  svg.rectangle({left + 84, top, 10, 10}, kMeasured);
  svg.text(left + 98, top + 9, "measured", 11, Anchor::Start, kInk);
  return svg.take();
}

std::string error_bars_svg(const std::vector<ComparedPoint>& all, Measure measure, std::string_view title) {
  constexpr double kHalf = 200, kRow = 20, kTop = 44, kApart = 56;  // pixels
  const std::vector<ComparedPoint> rows = positive(all);
  const double left = longest_label(rows) + 16, middle = left + kHalf;
  double most = 0.05;
  for (const ComparedPoint& row : rows) most = std::max(most, std::abs(row.predicted / row.measured - 1));
  SvgWriter svg{
      left + 2 * kHalf + 70, kTop + kRow * static_cast<double>(rows.size()) + 12, title,
      fmt::format("{} bars: how far predictions lie above (right) or below what was measured", rows.size()),
      kNoPage};
  svg.text(0, 16, title, 14, Anchor::Start, kInk);
  const auto x = [&](double error) { return middle + error / most * kHalf; };
  double top = kTop;
  for (const ComparedPoint& row : rows) {
    const double error = row.predicted / row.measured - 1;
    svg.text(left - 8, top + 12, row.label, 12, Anchor::End, kInk);
    svg.rectangle({std::min(middle, x(error)), top + 2, std::abs(x(error) - middle), kRow - 7},
                  row.held_out ? kMeasured : kPredicted, 1, tip(row, measure));
    svg.text(middle + kHalf + 8, top + 12, costmodel::format_signed_percent(error), 11, Anchor::Start, kInk);
    top += kRow;
  }
  for (const double mark : {-0.05, 0.0, 0.05}) {
    svg.line(x(mark), kTop - 4, x(mark), top, kInk, mark == 0.0 ? std::string_view{} : "3 4");
    const bool apart = x(mark) == middle || std::abs(x(mark) - middle) > kApart;
    if (apart)
      svg.text(x(mark), kTop - 8, mark == 0.0 ? "measured" : costmodel::format_signed_percent(mark), 11,
               Anchor::Middle, kInk);
  }
  return svg.take();
}

}  // namespace hexaplan::charts
