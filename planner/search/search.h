#pragma once
#include <functional>
#include <stop_token>

#include "costmodel/spec/scenario.h"
#include "planner/problem/problem.h"
#include "planner/search/ranking.h"

namespace hexaplan::planner {

/// How far a search is.
struct SearchProgress {
  double share = 0;         // of the whole space, 0..1
  std::int64_t priced = 0;  // candidates so far
};

struct SearchOptions {
  int threads = 0;  // 0 = one per core
  /// Called now and then, by one thread at a time (not always the caller's).
  std::function<void(const SearchProgress&)> progress;
  std::stop_token stop;  // the ranking of what was priced until then comes back
};

/// The best candidates of the whole space, exactly: what is not priced cannot be among them (docs/search.md).
/// The answer does not depend on the number of threads. A problem without hardware options has an empty
/// ranking. Preconditions: base passed the checks of `presets/` (sequence, global batch > 0).
[[nodiscard]] Ranking search(const SearchProblem& problem, const SearchOptions& options = {});

/// The space with every empty list replaced by the values that stand for it on `hardware`.
[[nodiscard]] SearchSpace filled_space(const SearchProblem& problem, std::size_t hardware);

}  // namespace hexaplan::planner
