#pragma once
#include <string>

#include "costmodel/step/estimate.h"

namespace hexaplan::planner {

/// What whoever starts a plan has to know of its memory, as one line: that it does not fit, or that it runs
/// out of memory with a chance above what `search` allows (kDefaultRisk). Empty where there is nothing to
/// warn of. Precondition: the estimate has priced stages.
[[nodiscard]] std::string memory_warning(const costmodel::Estimate& estimate);

}  // namespace hexaplan::planner
