#include "validator/executor/report/phase_clock.h"

namespace hexaplan::validator {

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames = {"other",    "forward",       "recompute",
                                                            "backward", "pipeline wait", "gradient reduction",
                                                            "clipping", "optimizer",     "parameter gather"};
  return kNames.at(static_cast<std::size_t>(phase));
}

PhaseClock::PhaseClock(Device& device) : device_{device} {
  begin(Phase::Other, -1);
}

void PhaseClock::begin(Phase phase, int layer) {
  spans_.push_back({phase, layer, device_.mark(Stream::Compute)});
}

Phase PhaseClock::enter(Phase phase) {
  const Span now = spans_.back();
  if (phase != now.phase) begin(phase, now.layer);
  return now.phase;
}

void PhaseClock::enter_layer(int layer) {
  const Span now = spans_.back();
  if (layer != now.layer) begin(now.phase, layer);
}

void PhaseClock::settle() {
  const Span last = spans_.back();
  begin(last.phase, last.layer);
  device_.synchronize();
  for (std::size_t i = 0; i + 1 < spans_.size(); ++i) {
    const Span& span = spans_[i];
    const costmodel::Seconds time = device_.between(span.begin, spans_[i + 1].begin);
    const auto phase = static_cast<std::size_t>(span.phase);
    times_[phase] += time;
    if (span.layer >= 0) layers_[span.layer][phase] += time;
  }
  device_.settle_times();
  spans_.clear();
  begin(last.phase, last.layer);
}

void PhaseClock::restart() {
  const Span now = spans_.back();
  spans_.clear();
  times_ = {};
  layers_.clear();
  begin(now.phase, now.layer);
}

}  // namespace hexaplan::validator
