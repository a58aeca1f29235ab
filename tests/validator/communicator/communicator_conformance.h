#pragma once
#include <string>
#include <vector>

#include "validator/executor/communicator/communicator.h"

namespace hexaplan::validator {

/// One law of the Communicator contract. `check` runs on every rank and returns what is wrong, or nothing.
struct ConformanceCase {
  const char* name;
  std::string (*check)(Communicator& world);
  bool needs_tags = false;  // transports without tags (NCCL) are excused
};

/// Every implementation passes all of these with any number of ranks. Expected values are worked out serially
/// from the ranks' numbers.
[[nodiscard]] const std::vector<ConformanceCase>& conformance_cases();

}  // namespace hexaplan::validator
