#pragma once
#include <cstddef>
#include <functional>
#include <stop_token>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "planner/problem/problem.h"
#include "planner/search/ranking.h"

namespace hexaplan::planner {

/// Progress of a search.
struct SearchProgress {
  double share = 0;         // of the whole space, 0..1
  std::int64_t priced = 0;  // candidates so far
};

struct SearchOptions {
  int threads = 0;  // 0 = one per core
  /// Called from time to time, by one thread at a time, not necessarily the caller's.
  std::function<void(const SearchProgress&)> progress;
  std::stop_token stop;  // a stopped search returns the ranking of what it has priced
  /// Candidates with the lowest bounds that are kept of each hardware option, at least. Where too few of them
  /// become plans, the search begins anew and keeps more.
  std::size_t room = 4096;
  /// Prices layouts, too, that earlier plans beat by a bound. The answer has the same plans and front; fewer
  /// candidates are outclassed, and more counted by the limits that they break.
  bool every_layout = false;
};

/// The best candidates of the whole space; exact: what is left unpriced cannot be among them
/// (docs/search.md). The answer does not depend on the number of threads. A problem without hardware options
/// has an empty ranking. Preconditions: base passed the checks of `presets/` (sequence, global batch > 0).
[[nodiscard]] Ranking search(const SearchProblem& problem, const SearchOptions& options = {});

/// `search` of each problem, several at a time; the answers are the same. A stopped one returns the ranking
/// of what was priced of it, which for problems that had not begun is empty. Progress is that of all
/// together.
[[nodiscard]] std::vector<Ranking> search_each(const std::vector<SearchProblem>& problems,
                                               const SearchOptions& options = {});

/// The space with every empty list replaced by its default values on hardware option `hardware`.
[[nodiscard]] SearchSpace filled_space(const SearchProblem& problem, std::size_t hardware);

}  // namespace hexaplan::planner
