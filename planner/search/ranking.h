#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/spec/layout.h"
#include "costmodel/spec/recipe.h"
#include "costmodel/step/estimate.h"
#include "costmodel/units/quantity.h"
#include "planner/problem/plan.h"

namespace hexaplan::planner {

/// One of the best, priced in full. Everything shown of it speaks of `plan`.
struct RankedPlan {
  /// With uneven stages and recomputation per stage where these are faster. Its step is `simulated` where
  /// that is known, otherwise the closed form's.
  Plan plan;
  costmodel::Estimate estimate;  // of `plan`, in closed form
  /// The candidate that `plan` refines, by the closed form; nothing where no refinement is faster.
  std::optional<Plan> refined_from;
  std::optional<costmodel::Seconds> simulated;  // step time by discrete events
  /// Simulated over closed-form step time, minus 1; 0 where nothing was simulated.
  [[nodiscard]] double closed_form_error() const {
    return simulated ? *simulated / estimate.time.total() - 1 : 0.0;
  }
};

/// Candidates that broke one rule, or one constraint.
struct RejectionCount {
  std::string rule;             // "heads-divide-by-tp", "fits-in-memory", "max-hours" …
  std::int64_t candidates = 0;  // that this rule was the first to reject
  std::string reason, advice;   // of one of them
  costmodel::Layout example;    // that one
  /// Layouts next to it, lower and higher along the axis the rule speaks of, that pass the rule.
  std::vector<costmodel::Layout> nearest;
  bool constraint = false;  // one of Constraints, not a rule of layouts
};

/// How many candidates there were and what became of them:
/// enumerated = rejected + pruned + outclassed + priced.
struct SearchCounts {
  std::int64_t enumerated = 0;
  std::int64_t rejected = 0;    // by rules, before pricing
  std::int64_t pruned = 0;      // a bound showed that they break a constraint; counted among `rejections`
  std::int64_t outclassed = 0;  // a bound showed that others beat them; whether they keep the constraints
                                // was not asked
  std::int64_t priced = 0;
  std::int64_t feasible = 0;  // of the priced ones: keep every constraint
  friend bool operator==(const SearchCounts&, const SearchCounts&) = default;
};

/// How the listed plans were chosen among the candidates.
struct Contest {
  std::int64_t refined = 0;    // candidates that could still be listed, with a faster uneven split
  std::int64_t simulated = 0;  // plans priced by discrete events
  double spread = 0;           // a plan was simulated unless this share off its closed form would not list it
  bool settled = true;  // no other candidate can pass; false where more could than were looked at, or a stop
};

struct Ranking {
  std::vector<RankedPlan> plans;  // best first, by what their prices say
  Contest contest;
  /// Feasible plans that no other beats in step time, peak memory, GPUs and dollars at once; by step time,
  /// all in closed form. The refined plans are among them.
  std::vector<Plan> pareto;
  /// The best of the candidates that keep every limit but that of the risk, refined and simulated as the
  /// others are; its price says how likely it runs out of memory. Nothing where no candidate is left out for
  /// its risk alone.
  std::optional<Plan> best_at_any_risk;
  std::vector<RejectionCount> rejections;  // most frequent first
  SearchCounts counts;
  bool stopped = false;  // cancelled: the best among what was priced until then
};

}  // namespace hexaplan::planner
