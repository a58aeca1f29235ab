#pragma once
#include <cstddef>
#include <vector>

#include "planner/problem/problem.h"
#include "planner/search/work.h"

namespace hexaplan::planner {

/// Numbers of all units, those first whose plans seem fast: what is found early outclasses what comes late.
/// Of each unit one layout per pipeline degree is estimated. The order changes no plan that a search finds.
[[nodiscard]] std::vector<std::size_t> promising_first(const SearchProblem& problem, const Work& work);

}  // namespace hexaplan::planner
