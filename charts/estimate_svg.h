#pragma once
#include <string>
#include <string_view>

#include "charts/svg.h"
#include "costmodel/step/estimate.h"

namespace hexaplan::charts {

/// Memory of every stage at its peak as a stacked bar by kind, with the 90 % interval of the fullest stage
/// and a line at what the device can give. The segments of a bar are in the order of costmodel::kMemoryKinds
/// and add up to `StageMemory::device`; those that have room carry their name. Precondition: no rule rejected
/// the layout.
[[nodiscard]] std::string stage_memory_svg(const costmodel::Estimate& estimate, std::string_view title,
                                           Ground ground = Ground::Paper);

/// The step by cause, longest first; causes that take nothing are left out. Precondition as above.
[[nodiscard]] std::string step_time_svg(const costmodel::Estimate& estimate, std::string_view title,
                                        Ground ground = Ground::Paper);

}  // namespace hexaplan::charts
