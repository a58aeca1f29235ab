#pragma once
#include <limits>
#include <optional>
#include <vector>

#include "planner/problem/plan.h"
#include "planner/problem/problem.h"

namespace hexaplan::planner {

/// Whether `refine` knows how to deal the layers of such a layout anew: it has a pipeline of one copy of the
/// model that is not folded, and no end of it lies on all stages.
[[nodiscard]] bool can_be_refined(const costmodel::Scenario& scenario);

/// Full recomputation, that of some layers and none differ in how many layers of each stage recompute.
[[nodiscard]] bool recomputes_whole_layers(costmodel::RecomputeMode mode);
/// Whether a refinement may choose how many: only where the space has every count of layers.
[[nodiscard]] bool may_choose_recomputed_layers(const std::vector<costmodel::Recompute>& choices);

/// The plan with the split of its layers over its stages, and per stage the fewest fully recomputed layers,
/// that make the shortest step within the problem's limits of memory: found by dynamic programming over
/// stages, exact where the pipeline has a closed form (docs/search.md). Stages of several chunks keep their
/// layers (unequal chunks would stall each other) and differ in what they recompute. What is recomputed stays
/// as it is unless `choose_recomputed`. Nothing where that is not faster than `plan`, or takes `longest` or
/// more.
[[nodiscard]] std::optional<Plan> refine(const SearchProblem& problem, const Plan& plan,
                                         bool choose_recomputed = true,
                                         costmodel::Seconds longest = costmodel::Seconds{
                                             std::numeric_limits<double>::infinity()});

}  // namespace hexaplan::planner
