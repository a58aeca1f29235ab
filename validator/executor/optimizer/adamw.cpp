#include "validator/executor/optimizer/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hexaplan::validator {

double LearningRate::at(std::int64_t step) const {
  if (step <= warm_up_steps) return peak * static_cast<double>(step) / static_cast<double>(warm_up_steps);
  if (total_steps <= warm_up_steps) return peak;
  const double progress = std::min(
      1.0, static_cast<double>(step - warm_up_steps) / static_cast<double>(total_steps - warm_up_steps));
  return lowest + 0.5 * (peak - lowest) * (1 + std::cos(std::numbers::pi * progress));
}

double clip_factor(double norm, double clip_norm) {
  constexpr double kAgainstZero = 1e-6;
  return clip_norm > 0 ? std::min(1.0, clip_norm / (norm + kAgainstZero)) : 1.0;
}

}  // namespace hexaplan::validator
