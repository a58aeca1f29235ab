#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "costmodel/units/quantity.h"

namespace hexaplan::validator {

/// What a rank does during a step, in the words of the step-time model.
enum class Phase : std::uint8_t {
  Other,
  Forward,
  Recompute,
  Backward,
  Pipeline,
  Reduction,
  Clipping,
  Optimizer,
  Gather
};
inline constexpr int kPhases = 9;
/// "forward", "recompute", …, "gradient reduction", "parameter gather".
[[nodiscard]] std::string_view name_of(Phase phase);

using PhaseTimes = std::array<costmodel::Seconds, kPhases>;

/// Divides the time of one rank among phases: every moment belongs to exactly one, so they sum to the whole.
class PhaseClock {
 public:
  /// What follows belongs to `phase`. Returns the phase until now, for whoever wants to go back to it.
  Phase enter(Phase phase);
  /// Time per phase since construction or restart().
  [[nodiscard]] PhaseTimes times() const;
  void restart();

 private:
  using Clock = std::chrono::steady_clock;
  Phase phase_ = Phase::Other;
  Clock::time_point since_ = Clock::now();
  std::array<Clock::duration, kPhases> spent_{};
};

}  // namespace hexaplan::validator
