#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "costmodel/units/quantity.h"
#include "planner/problem/problem.h"
#include "planner/search/ranking.h"

namespace hexaplan::planner {

/// A technique that the space does not vary, with which one of the listed plans would be first.
struct UnusedTechnique {
  std::string_view setting, value;  // "ep-overlap", "true"
  std::size_t plan = 0;             // that would be the fastest with it
  costmodel::Seconds step;          // as the list's: simulated where those are
};

/// Techniques of the framework that make one of `plans`, which are best first, faster than the first by more
/// than 1 %, within the limits of the problem; the fastest first. What the question says of a technique
/// stands.
[[nodiscard]] std::vector<UnusedTechnique> unused_techniques(const SearchProblem& problem,
                                                             const std::vector<RankedPlan>& plans);

}  // namespace hexaplan::planner
