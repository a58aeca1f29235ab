#pragma once
#include <optional>

#include "planner/search/problem.h"
#include "planner/search/ranking.h"

namespace hexaplan::planner {

/// The split of the plan's layers over its stages, and per stage the fewest fully recomputed layers, that
/// make the shortest step within the problem's memory limit: found by dynamic programming over stages, exact
/// where the pipeline has a closed form (docs/search.md). Nothing where the plan's own split cannot be
/// bettered, or has no other: no pipeline, a schedule that folds the model, layers of several classes
/// interleaved.
[[nodiscard]] std::optional<Refinement> refine(const SearchProblem& problem, const Plan& plan);

}  // namespace hexaplan::planner
