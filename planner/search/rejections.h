#pragma once
#include <string_view>
#include <vector>

#include "planner/problem/problem.h"
#include "planner/search/findings.h"
#include "planner/search/ranking.h"
#include "planner/search/work.h"

namespace hexaplan::planner {

/// What `account` counted, in words: reason, advice and the layouts next to the example that pass. Most
/// frequent first.
[[nodiscard]] std::vector<RejectionCount> rejections_of(const SearchProblem& problem, const Work& work,
                                                        const Account& account);

/// What the limit is called: "max-hours".
[[nodiscard]] std::string_view name_of(Limit limit);

}  // namespace hexaplan::planner
