#pragma once
#include <string>

#include "planner/search/ranking.h"

namespace hexaplan::planner {

/// Why nothing was found, in one line. Precondition: the ranking has no plans.
[[nodiscard]] std::string reason_for_nothing(const Ranking& ranking);

}  // namespace hexaplan::planner
