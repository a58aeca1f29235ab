#pragma once
#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.h"

namespace hexaplan::planner {

/// The best plan of a problem on slightly other machines.
struct ChangedMachines {
  std::string change;              // "100 Gbit/s more per node"
  std::optional<RankedPlan> best;  // nothing where none keeps the limits
};

/// A plan on other machines beside the first one on these.
struct PlanShift {
  bool same_plan = false;
  double throughput = 0;  // share by which tokens per second change
};
[[nodiscard]] PlanShift shift_of(const Plan& now, const Plan& then);

/// What the first plan of `search` becomes with one more GiB of memory per GPU, 100 Gbit/s more per node, a
/// quarter more inside the node, and a price 10 % lower or higher: one search each. A change that the
/// machines cannot have (a network of one node, a price that is not known) is left out.
[[nodiscard]] std::vector<ChangedMachines> sensitivity(const SearchProblem& problem,
                                                       const SearchOptions& options = {});

}  // namespace hexaplan::planner
