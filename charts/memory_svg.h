#pragma once
#include <string>
#include <string_view>

#include "charts/svg.h"
#include "costmodel/simulate/simulation.h"

namespace hexaplan::charts {

/// Memory of every stage over a step, stages below each other on one scale: what is kept for backward on top
/// of everything else, a line at what the device can give the framework, the peak written beside it.
/// `capacity`: of the device; what lies outside the framework's allocator on a stage
/// (StageTimeline::outside) is taken off. Precondition: the simulation kept its memory.
[[nodiscard]] std::string memory_svg(const costmodel::Simulation& simulation, costmodel::Bytes capacity,
                                     std::string_view title, Ground ground = Ground::Paper);

}  // namespace hexaplan::charts
