#pragma once
#include <algorithm>
#include <string_view>

#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"

namespace hexaplan::presets {

// What settling shares between frameworks.

[[nodiscard]] inline costmodel::Precision sixteen_or_more(const LaunchReading& reading) {
  using costmodel::Precision;
  return reading.brain ? Precision::Bf16 : reading.half ? Precision::Fp16 : Precision::Fp32;
}
/// A file says "auto" of this setting.
[[nodiscard]] inline bool left_to_trainer(const LaunchReading& reading, std::string_view key) {
  const auto& left = reading.left_to_trainer;
  return std::find(left.begin(), left.end(), key) != left.end();
}
/// The type of gradients where it is another than the profile's. Precondition: the precision is settled.
inline void take_gradient_type(LaunchReading& reading, costmodel::DType type) {
  reading.plan.recipe.gradient_dtype.reset();
  if (type != gradient_dtype(reading.plan)) reading.plan.recipe.gradient_dtype = type;
}
/// What follows from other dimensions where a file leaves it out.
void settle_dimensions(LaunchReading& reading);

}  // namespace hexaplan::presets
