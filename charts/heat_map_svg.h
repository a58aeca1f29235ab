#pragma once
#include <optional>
#include <string>
#include <vector>

#include "charts/svg.h"

namespace hexaplan::charts {

struct HeatMapCell {
  std::optional<double> value;  // nothing: hatched
  std::string words;            // what stands in it
  std::string tip;              // what a pointer over it shows
};

/// A figure over two lists of values. Rows go down, columns across; the first row is at the top.
struct HeatMap {
  std::string title, row_title, column_title;
  std::vector<std::string> rows, columns;
  std::vector<HeatMapCell> cells;  // row by row, one for each pair
};

/// Cells from the least value, dark, to the most, light, each with its words; a scale names both ends.
/// Precondition: as many cells as pairs, at least one.
[[nodiscard]] std::string heat_map_svg(const HeatMap& map, Ground ground = Ground::Paper);

}  // namespace hexaplan::charts
