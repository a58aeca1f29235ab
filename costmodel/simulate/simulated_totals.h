#pragma once
#include <mutex>
#include <vector>

#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

struct Calibration;
struct Scenario;

/// Times of simulated steps, by whichever thread: steps that are put together from equal pieces run once.
class SimulatedTotals {
 public:
  SimulatedTotals();
  ~SimulatedTotals();
  SimulatedTotals(const SimulatedTotals&) = delete;
  SimulatedTotals& operator=(const SimulatedTotals&) = delete;
  /// The total of `simulate_step`, with its preconditions.
  [[nodiscard]] Seconds of(const Scenario& scenario, const Calibration& calibration);

 private:
  struct Known;
  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace hexaplan::costmodel
