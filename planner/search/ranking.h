#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/spec/layout.h"
#include "costmodel/spec/recipe.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/technique_evidence.h"
#include "costmodel/units/quantity.h"
#include "planner/problem/plan.h"

namespace hexaplan::planner {

/// A listed plan, priced in full. Everything that is printed about it describes `plan`.
struct RankedPlan {
  /// With uneven stages and per-stage recompute where that is faster. Its step time is `simulated` if there
  /// is one, otherwise the closed form.
  Plan plan;
  costmodel::Estimate estimate;  // of `plan`, in closed form
  /// The candidate that `plan` refines, priced in closed form; nothing if no refinement is faster.
  std::optional<Plan> refined_from;
  std::optional<costmodel::Seconds> simulated;  // step time by discrete events
  costmodel::Seconds ninth_decile;              // nine of ten such predictions' steps are no longer
  costmodel::TechniqueSet techniques = 0;       // what published runs can tell of it
  /// Simulated over closed-form step time, minus 1; 0 where nothing was simulated.
  [[nodiscard]] double closed_form_error() const {
    return simulated ? *simulated / estimate.time.total() - 1 : 0.0;
  }
};

/// Candidates that break one rule or exceed one limit.
struct RejectionCount {
  std::string rule;             // "heads-divide-by-tp", "fits-in-memory", "max-hours" …
  std::int64_t candidates = 0;  // for which this is the first rule that they break
  std::string reason, advice;   // of one of them
  costmodel::Layout example;    // that one
  /// The next layouts below and above it, along the axis that the rule is about, that pass the rule.
  std::vector<costmodel::Layout> nearest;
  bool constraint = false;  // one of Constraints, not a rule of layouts
  /// Of a constraint: the whole of the one that comes closest, for whoever looks for what would help it.
  struct Closest {
    costmodel::Scenario scenario;
    std::size_t hardware = 0;  // in SearchProblem::hardware
  };
  std::optional<Closest> closest;
};

/// Number of candidates and what happened to them:
/// enumerated = rejected + pruned + outclassed + priced.
struct SearchCounts {
  std::int64_t enumerated = 0;
  std::int64_t rejected = 0;    // by rules, before pricing
  std::int64_t pruned = 0;      // a bound shows that they exceed a limit; counted among `rejections`
  std::int64_t outclassed = 0;  // a bound shows that others beat them; whether they meet the limits was not
                                // evaluated
  std::int64_t priced = 0;
  std::int64_t feasible = 0;  // priced candidates that meet every limit
  friend bool operator==(const SearchCounts&, const SearchCounts&) = default;
};

/// How the listed plans were selected.
struct Contest {
  std::int64_t refined = 0;    // candidates that could still be listed, with a faster uneven split
  std::int64_t simulated = 0;  // plans priced by discrete events
  double spread = 0;           // plans within this share of the list's last closed form were simulated
  bool settled =
      true;  // no other candidate could be listed; false after a stop, or if more could than were examined
  /// A plan that meets every limit in closed form and breaks one once simulated.
  struct Missed {
    std::string limit;           // "max-cost"
    costmodel::Seconds step;     // simulated
    costmodel::Seconds allowed;  // the longest that keeps the limit
  };
  std::optional<Missed> missed;  // where nothing is listed: the closest of them
};

struct Ranking {
  std::vector<RankedPlan> plans;  // best first, by price
  Contest contest;
  /// Pareto front: feasible plans that no other beats in step time, peak memory, GPUs and dollars at once, in
  /// order of step time, priced in closed form. Includes refined plans.
  std::vector<Plan> pareto;
  /// The best candidate that meets every limit except the risk, refined and simulated like the others; its
  /// price holds the chance that it runs out of memory. Nothing if no candidate was rejected for its risk
  /// alone.
  std::optional<Plan> best_at_any_risk;
  std::vector<RejectionCount> rejections;  // most frequent first
  SearchCounts counts;
  bool stopped = false;  // cancelled: the best of what was priced until then
};
/// The limit that candidates reached last, those before it kept: what has to give way first. Null where a
/// candidate keeps all of them, or none reached any.
[[nodiscard]] const RejectionCount* last_limit(const Ranking& ranking);
/// Why nothing was found, in one line. Precondition: the ranking has no plans.
[[nodiscard]] std::string reason_for_nothing(const Ranking& ranking);

}  // namespace hexaplan::planner
