#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "costmodel/units/quantity.h"

namespace hexaplan::validator {

/// One figure of a run's log.
struct TimedStep {
  std::int64_t iteration = 0;  // falls where a run was started again
  std::int64_t steps = 1;      // that the time is the mean of
  costmodel::Seconds time;     // of one step
};

/// What the steps of a run say about its step time.
struct SteadySteps {
  costmodel::Seconds median, low, high;  // of the steps used; low and high: 80 % lie between them
  double spread = 0;                     // robust standard deviation over the median
  double drift = 0;  // median of the last third over that of the first, less 1; 0 for fewer than 9
  std::vector<std::size_t> used, warm_up, disturbed;  // which of the steps given
};

/// Leaves out the warm-up and what disturbed single steps. Warm-up: the first steps of a run, or of each part
/// of one that was started again, while they are slower than its second half by more than 3 σ and 2 %, at
/// most half of the part. Disturbed: steps further from the median than 5 σ and 5 % (checkpoints,
/// evaluations, another job on the network). σ is the one of the median distance. Precondition: at least one
/// step, every time positive.
[[nodiscard]] SteadySteps steady_steps(const std::vector<TimedStep>& steps);

}  // namespace hexaplan::validator
