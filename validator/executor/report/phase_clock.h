#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "costmodel/units/quantity.h"
#include "validator/executor/device/device.h"

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
/// By layer of the model.
using LayerTimes = std::map<int, PhaseTimes>;

/// Divides the time of one rank among phases and layers: every moment belongs to exactly one phase, so they
/// sum to the whole, and to one layer or none. Time is that of the device's compute stream.
class PhaseClock {
 public:
  /// Lifetime: `device` outlives the clock.
  explicit PhaseClock(Device& device);

  /// What follows belongs to `phase`. Returns the phase until now, for whoever wants to go back to it.
  Phase enter(Phase phase);
  /// What follows belongs to this layer; −1: to none.
  void enter_layer(int layer);

  /// Waits for the device and adds up what was passed until now, the device's own times as well
  /// (Device::settle_times): all marks may be used again.
  void settle();
  /// Time per phase up to the last settle().
  [[nodiscard]] const PhaseTimes& times() const { return times_; }
  [[nodiscard]] const LayerTimes& layers() const { return layers_; }
  /// Forgets everything until now.
  void restart();

 private:
  struct Span {
    Phase phase = Phase::Other;
    int layer = -1;
    TimeMark begin;
  };
  void begin(Phase phase, int layer);

  Device& device_;
  std::vector<Span> spans_;  // not yet in the times; the last one runs
  PhaseTimes times_{};
  LayerTimes layers_;
};

}  // namespace hexaplan::validator
