#pragma once
#include <memory>

#include "costmodel/units/quantity.h"
#include "gui/plot/memory_curve.h"
#include "gui/plot/timeline_geometry.h"

namespace hexaplan::costmodel {
struct Simulation;
}

namespace hexaplan::gui {

/// The simulation as a timeline: per stage a lane for compute, in which the collectives that it waits for
/// stand too and whose remaining gaps are bubbles, and one for every stream of communication that is used.
/// Communication beside compute is shown apart from what nothing hides; with the critical path. O(spans);
/// meant to be called outside the GUI's thread.
[[nodiscard]] std::shared_ptr<const TimelineData> timelineOf(const costmodel::Simulation& simulation);

/// Memory over time of one stage. Precondition: the simulation kept memory; the stage exists.
[[nodiscard]] MemoryCurveData memoryCurveOf(const costmodel::Simulation& simulation, int stage,
                                            costmodel::Bytes usable, costmodel::Bytes device);

}  // namespace hexaplan::gui
