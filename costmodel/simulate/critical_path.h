#pragma once
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

}  // namespace hexaplan::costmodel
