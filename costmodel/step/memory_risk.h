#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/framework_profile.h"
#include "costmodel/units/quantity.h"

// How sure a predicted peak is. Residuals of log(measured / predicted) are taken as normal.
// [docs/formulas.md#T9]
namespace hexaplan::costmodel {

/// Standard deviation of log(measured / predicted) for memory.
[[nodiscard]] double memory_sigma(const FrameworkProfile& framework, const Calibration& calibration);

/// Chance that a peak predicted as `peak` exceeds `capacity`, 0..1. With `sigma` 0 the prediction is certain.
[[nodiscard]] double out_of_memory_probability(Bytes peak, Bytes capacity, double sigma);

/// The largest predicted peak whose chance of exceeding `capacity` is at most `risk`, to the last bit: a plan
/// keeps the risk exactly when its peak is no larger. Infinite for a risk of 1 or more.
[[nodiscard]] Bytes most_memory_at_risk(Bytes capacity, double risk, double sigma);

}  // namespace hexaplan::costmodel
