#pragma once
#include <limits>
#include <optional>
#include <vector>

#include "planner/problem/plan.h"
#include "planner/problem/problem.h"

namespace hexaplan::planner {

/// Whether `refine` can redistribute the layers of such a layout: a pipeline of one copy of the model, not
/// V-shaped, without vocabulary parallelism over the stages; of several chunks per stage only where each
/// stage may recompute as many layers as it likes.
[[nodiscard]] bool can_be_refined(const costmodel::Scenario& scenario);

/// True for the modes none, N layers and full, which differ only in how many layers of each chunk recompute.
[[nodiscard]] bool recomputes_whole_layers(costmodel::RecomputeMode mode);
/// Whether refinement may choose how many: only if the space contains every count of layers.
[[nodiscard]] bool may_choose_recomputed_layers(const std::vector<costmodel::Recompute>& choices);

/// The plan with the split of its layers over its stages, and the fewest fully recomputed layers,
/// that give the shortest step within the problem's memory limits. Dynamic programming over stages, exact
/// where the pipeline has a closed form (docs/search.md). Stages with several chunks keep their layers,
/// because unequal chunks would stall each other, and differ only in what they recompute. Where the framework
/// has no number of recomputed layers for each stage, all stages have the same. Recompute stays as it is
/// unless `choose_recomputed`. Nothing if the result is not faster than `plan`, or takes `longest` or
/// more.
[[nodiscard]] std::optional<Plan> refine(const SearchProblem& problem, const Plan& plan,
                                         bool choose_recomputed = true,
                                         costmodel::Seconds longest = costmodel::Seconds{
                                             std::numeric_limits<double>::infinity()});

}  // namespace hexaplan::planner
