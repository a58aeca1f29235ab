#include "validator/report/phase_clock.h"

namespace hexaplan::validator {

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames = {"other",    "forward",       "recompute",
                                                            "backward", "pipeline wait", "gradient reduction",
                                                            "clipping", "optimizer",     "parameter gather"};
  return kNames.at(static_cast<std::size_t>(phase));
}

Phase PhaseClock::enter(Phase phase) {
  const Clock::time_point now = Clock::now();
  spent_[static_cast<std::size_t>(phase_)] += now - since_;
  since_ = now;
  const Phase left = phase_;
  phase_ = phase;
  return left;
}

PhaseTimes PhaseClock::times() const {
  PhaseTimes times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    Clock::duration spent = spent_[i];
    if (i == static_cast<std::size_t>(phase_)) spent += Clock::now() - since_;
    times[i] = costmodel::Seconds{std::chrono::duration<double>{spent}.count()};
  }
  return times;
}

void PhaseClock::restart() {
  spent_ = {};
  since_ = Clock::now();
}

}  // namespace hexaplan::validator
