#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/simulate/simulation.h"

namespace hexaplan::costmodel {

/// A stretch of the chain that a step's length follows from.
struct PathPart {
  int stage = 0;
  Stream stream = Stream::Compute;
  bool waiting = false;  // nothing is drawn there: the host, or latency; `span` has begin and end alone
  Span span;             // as far as it lies on the chain: a transfer may go on while others have begun
  friend bool operator==(const PathPart&, const PathPart&) = default;
};

/// What made the step as long as it is, up to its last moment: each part begins when the one before ends, on
/// the same stage, or at the stage whose message it waited for; the first where its stage begins. Whatever is
/// not on it could take a little longer and the step would not. Where several chains are equally long, the
/// one that stays on its stage. Empty without spans.
[[nodiscard]] std::vector<PathPart> critical_path(const Simulation& simulation);

/// Where the time of such a chain goes.
struct PathTimes {
  std::array<Seconds, kSpanKinds> kinds{};  // by SpanKind
  Seconds waiting;                          // nothing is drawn there
  int stages = 0;                           // that the chain goes over; 0: there is none
  [[nodiscard]] Seconds total() const;
};
[[nodiscard]] PathTimes times_of(const std::vector<PathPart>& path);
/// "backward 54.2 %, forward 27.0 %, waiting 0.3 %": kinds from the longest on, shares of the chain; what
/// would be said to be 0.0 % is left out. Empty without a chain.
[[nodiscard]] std::string shares_text(const PathTimes& times);

/// Most tasks (tasks_of_step) of a step that a command follows unasked: all spans have to be kept for it, 100
/// bytes a task.
inline constexpr std::int64_t kMostFollowedTasks = kMostDrawnTasks / 10;

}  // namespace hexaplan::costmodel
