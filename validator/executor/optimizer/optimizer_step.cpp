#include "validator/executor/optimizer/optimizer_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace hexaplan::validator {
namespace {

constexpr std::array<std::string_view, 3> kDecays{"constant", "cosine", "linear"};  // by Decay

/// 1 at the beginning of the decay, 0 at its end.
double share_left(Decay decay, double progress) {
  switch (decay) {
    case Decay::Constant:
      break;
    case Decay::Cosine:
      return 0.5 * (1 + std::cos(std::numbers::pi * progress));
    case Decay::Linear:
      return 1 - progress;
  }
  return 1;
}

}  // namespace

std::string_view name_of(Decay decay) {
  return kDecays.at(static_cast<std::size_t>(decay));
}

std::optional<Decay> decay_named(std::string_view name) {
  const auto found = std::find(kDecays.begin(), kDecays.end(), name);
  if (found == kDecays.end()) return std::nullopt;
  return static_cast<Decay>(found - kDecays.begin());
}

double LearningRate::at(std::int64_t step) const {
  if (step <= warm_up_steps) return peak * static_cast<double>(step) / static_cast<double>(warm_up_steps);
  if (decay == Decay::Constant) return peak;
  if (total_steps <= warm_up_steps) return lowest;
  const double progress = std::min(
      1.0, static_cast<double>(step - warm_up_steps) / static_cast<double>(total_steps - warm_up_steps));
  return lowest + (peak - lowest) * share_left(decay, progress);
}

double clip_factor(double norm, double clip_norm) {
  constexpr double kAgainstZero = 1e-6;
  return clip_norm > 0 ? std::min(1.0, clip_norm / (norm + kAgainstZero)) : 1.0;
}

}  // namespace hexaplan::validator
