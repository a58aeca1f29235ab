#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::charts {

/// What the numbers of a comparison are.
enum class Measure : std::uint8_t { Seconds, Bytes };

/// One figure, predicted and measured; `low` and `high` bound what was predicted.
struct ComparedPoint {
  std::string label;
  double predicted = 0, measured = 0;
  double low = 0, high = 0;
  bool held_out = false;  // drawn filled; else hollow
};

/// Predicted over measured on logarithmic axes of one scale: the diagonal, a band of ±5 %, every point's
/// interval as a line. Points that are not positive are left out. For a page that sets colours: text and
/// lines take the page's colour, marks `--predicted` and `--measured` where it defines them.
[[nodiscard]] std::string scatter_svg(const std::vector<ComparedPoint>& points, Measure measure,
                                      std::string_view title);

/// Pairs of bars, predicted above measured, on one linear scale from zero; numbers are written beside them.
[[nodiscard]] std::string paired_bars_svg(const std::vector<ComparedPoint>& rows, Measure measure,
                                          std::string_view title);

/// Signed errors (predicted/measured − 1) of the points as bars from a middle line.
[[nodiscard]] std::string error_bars_svg(const std::vector<ComparedPoint>& rows, Measure measure,
                                         std::string_view title);

}  // namespace hexaplan::charts
