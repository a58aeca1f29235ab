#pragma once
#include <string>
#include <string_view>

#include "charts/svg.h"
#include "costmodel/simulate/simulation.h"

namespace hexaplan::charts {

/// A step as a Gantt chart: per stage a lane of compute and, thinner below it, collectives, data-parallel
/// transfers and messages; micro-batch numbers where there is room, tool-tips on what is wide enough. What is
/// narrower than a pixel is drawn as what fills most of it, so that files stay below a few megabytes.
/// Precondition: the simulation kept its spans. `title` heads the chart.
[[nodiscard]] std::string gantt_svg(const costmodel::Simulation& simulation, std::string_view title,
                                    Ground ground = Ground::Paper);

}  // namespace hexaplan::charts
