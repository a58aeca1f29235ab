#pragma once
#include <memory>

#include "gui/plot/timeline_geometry.h"

namespace hexaplan::validator {
struct Overlay;
}

namespace hexaplan::gui {

/// Differences below this share count as none.
inline constexpr double kAsPredicted = 0.1;

/// A measured step over the predicted one: for kernels, messages and copies the predicted operations, what
/// ran on each stream, and by how much what was recognised differs. Spans say their operation or kernel and
/// both times. O(spans); for worker threads.
[[nodiscard]] std::shared_ptr<const TimelineData> timelineOf(
    const std::shared_ptr<const validator::Overlay>& overlay);

}  // namespace hexaplan::gui
