#include "charts/heat_map_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "charts/colour_scale.h"

namespace hexaplan::charts {
namespace {

constexpr double kMapWidth = 900, kMapTop = 56, kMapBottom = 56, kMapRight = 16, kNamesTo = 110, kMapRow = 34;

/// Least and most value with their cells' words.
struct Ends {
  const HeatMapCell *least = nullptr, *most = nullptr;
  [[nodiscard]] double position(double value) const {
    const double range = *most->value - *least->value;
    return range > 0 ? (value - *least->value) / range : 1;
  }
};
Ends ends_of(const HeatMap& map) {
  Ends ends;
  for (const HeatMapCell& cell : map.cells) {
    if (!cell.value) continue;
    if (ends.least == nullptr || *cell.value < *ends.least->value) ends.least = &cell;
    if (ends.most == nullptr || *cell.value > *ends.most->value) ends.most = &cell;
  }
  return ends;
}

void draw_scale(SvgWriter& svg, const HeatMap& map, const Ends& ends) {
  constexpr double kY = 36, kSteps = 60, kStep = 2;
  double x = kNamesTo;
  if (ends.least != nullptr) {
    svg.text(x, kY + 10, ends.least->words, 12);
    x += static_cast<double>(ends.least->words.size()) * kLetterWidth + 8;
    for (double i = 0; i < kSteps; ++i)
      svg.rectangle({x + i * kStep, kY, kStep + 0.5, 12}, to_text(sequential_colour(i / (kSteps - 1))));
    x += kSteps * kStep + 8;
    svg.text(x, kY + 10, ends.most->words, 12);
    x += static_cast<double>(ends.most->words.size()) * kLetterWidth + 24;
  }
  const bool gaps = std::any_of(map.cells.begin(), map.cells.end(),
                                [](const HeatMapCell& cell) { return !cell.value.has_value(); });
  if (!gaps) return;
  svg.rectangle({x, kY, 18, 12}, "#f5f5f5");
  svg.line(x, kY + 12, x + 18, kY, "#8c8c8c");
  svg.text(x + 24, kY + 10, "nothing found", 12);
}

void draw_cell(SvgWriter& svg, const Box& box, const HeatMapCell& cell, const Ends& ends) {
  if (!cell.value) {
    svg.rectangle(box, "#f5f5f5", 1, cell.tip);
    return svg.line(box.x, box.y + box.height, box.x + box.width, box.y, "#8c8c8c");
  }
  const Colour colour = sequential_colour(ends.position(*cell.value));
  svg.rectangle(box, to_text(colour), 1, cell.tip);
  if (static_cast<double>(cell.words.size()) * kLetterWidth + 6 > box.width) return;
  svg.text(box.x + box.width / 2, box.y + box.height / 2 + 4, cell.words, 12, Anchor::Middle,
           to_text(writing_on(colour)));
}

}  // namespace

std::string heat_map_svg(const HeatMap& map, Ground ground) {
  const auto rows = static_cast<double>(map.rows.size()), columns = static_cast<double>(map.columns.size());
  const double height = kMapTop + rows * kMapRow + kMapBottom;
  const double width = (kMapWidth - kNamesTo - kMapRight) / columns;
  SvgWriter svg{kMapWidth, height, map.title,
                fmt::format("{} over {} and {}: {} values by {}", map.title, map.row_title, map.column_title,
                            map.rows.size(), map.columns.size()),
                ground};
  const Ends ends = ends_of(map);
  svg.text(kNamesTo, 20, map.title, 15);
  draw_scale(svg, map, ends);
  svg.text(kNamesTo - 8, kMapTop - 8, map.row_title, 12, Anchor::End, "#595959");
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = kMapTop + static_cast<double>(r) * kMapRow;
    svg.text(kNamesTo - 8, y + kMapRow / 2 + 4, map.rows[r], 12, Anchor::End);
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const double x = kNamesTo + static_cast<double>(c) * width;
      draw_cell(svg, {x, y, width - 1, kMapRow - 1}, map.cells[r * map.columns.size() + c], ends);
    }
  }
  // Of many columns every second, third … has its name.
  const auto longest = std::max_element(map.columns.begin(), map.columns.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const double needed = static_cast<double>(longest->size()) * kLetterWidth + 6;
  const auto every = static_cast<std::size_t>(std::max(1.0, needed / width + 0.999));
  const double below = kMapTop + rows * kMapRow;
  for (std::size_t c = 0; c < map.columns.size(); c += every)
    svg.text(kNamesTo + (static_cast<double>(c) + 0.5) * width, below + 16, map.columns[c], 12,
             Anchor::Middle);
  svg.text(kMapWidth - kMapRight, below + 36, map.column_title, 12, Anchor::End, "#595959");
  return svg.take();
}

}  // namespace hexaplan::charts
