#pragma once
#include <optional>

#include "planner/search/problem.h"
#include "planner/search/ranking.h"

namespace hexaplan::planner {

/// The split of the plan's layers over its stages, and per stage the fewest fully recomputed layers, that
/// make the shortest step within the problem's memory limit: found by dynamic programming over stages, exact
/// where the pipeline has a closed form (docs/search.md). Stages of several chunks keep their layers (unequal
/// chunks would stall each other) and differ in what they recompute. Nothing where the plan cannot be
/// bettered, has no pipeline, or folds the model.
[[nodiscard]] std::optional<Refinement> refine(const SearchProblem& problem, const Plan& plan);

}  // namespace hexaplan::planner
