#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "charts/svg.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::charts {

/// A plan that a search found.
struct PlanPoint {
  std::string label;
  costmodel::Seconds step;
  costmodel::Bytes peak;
  double risk = 0;      // chance of running out of memory, 0..1
  bool listed = false;  // among the best: drawn large, with its number
  int number = 0;       // of a listed plan, counted from 1
};

/// Step time across, peak memory upwards, from the least to the most of each; the colour of a point is its
/// chance of running out of memory, in four classes that the legend names; a line at `capacity` where that
/// is in sight. Precondition: points is not empty.
[[nodiscard]] std::string plans_svg(const std::vector<PlanPoint>& points, costmodel::Bytes capacity,
                                    std::string_view title, Ground ground = Ground::Paper);

}  // namespace hexaplan::charts
