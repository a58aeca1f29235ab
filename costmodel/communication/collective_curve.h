#pragma once
#include <optional>
#include <span>

#include "costmodel/calibrate/calibration.h"

namespace hexaplan::costmodel {

/// Time on a measured curve: log-log between its points, the first point's time below them, the last
/// segment's rate beyond them. Precondition: at least one point.
[[nodiscard]] Seconds time_on(const CollectiveCurve& curve, Bytes payload);

/// Curves of `kind` next to `ranks` from below and above; the same one twice when it fits exactly or there is
/// none on the other side.
struct CurvePair {
  const CollectiveCurve* below = nullptr;
  const CollectiveCurve* above = nullptr;
};
[[nodiscard]] CurvePair nearest_curves(std::span<const CollectiveCurve> curves, CollectiveKind kind,
                                       std::int64_t ranks);

}  // namespace hexaplan::costmodel
