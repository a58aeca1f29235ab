#pragma once
#include <vector>

#include "planner/search/findings.h"
#include "planner/search/problem.h"
#include "planner/search/ranking.h"
#include "planner/search/space.h"

namespace hexaplan::planner {

/// What `found` counted, in words: reason, advice and the layouts next to the example that pass. Most
/// frequent first.
[[nodiscard]] std::vector<RejectionCount> rejections_of(const SearchProblem& problem,
                                                        const std::vector<Space>& spaces,
                                                        const std::vector<Unit>& units,
                                                        const Findings& found);

}  // namespace hexaplan::planner
