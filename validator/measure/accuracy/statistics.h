#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hexaplan::validator {

/// One prediction beside its measurement. Precondition: both positive.
struct Residual {
  std::string source;
  double predicted = 0;
  double measured = 0;
  std::optional<double> weight;  // inside the source
  /// Signed relative error, predicted/measured - 1.
  [[nodiscard]] double error() const { return predicted / measured - 1.0; }
};

struct ErrorSummary {
  std::size_t rows = 0;     // scored
  std::size_t skipped = 0;  // scoreable, but no prediction
  /// Weighted mean of |error| inside each source, then the plain mean over sources: large tables do not drown
  /// small ones.
  double macro_mean_abs_error = 0;
  double median_abs_error = 0;  // over all rows, unweighted
  double worst = 0;             // largest |error|
  double bias = 0;              // signed mean, weighted like the macro mean
};
[[nodiscard]] ErrorSummary summarise(const std::vector<Residual>& residuals, std::size_t skipped);

/// Rank correlation with average ranks for ties; nothing for fewer than two pairs or when one side is
/// constant.
[[nodiscard]] std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);

/// One of several runs that a planner would have chosen from.
struct RankedRun {
  double predicted = 0;  // time
  double measured = 0;
  bool fits = true;  // predicted to: a planner proposes no other
};
/// How much slower than the best measured run the run is that a planner would have picked: the fastest
/// predicted among those predicted to fit (among all when none is). Precondition: not empty. Equal
/// predictions: the first.
[[nodiscard]] double regret(const std::vector<RankedRun>& runs);

struct RankingSummary {
  std::size_t groups = 0;
  double mean_regret = 0;
  double median_regret = 0;  // one run that something disturbed moves the mean of all groups, not this
  double worst_regret = 0;
  std::size_t groups_within_5_percent = 0;  // whose regret is at most that
  double mean_spearman = 0;                 // over groups where it is defined
};
/// Groups with fewer than two runs say nothing and are not counted.
[[nodiscard]] RankingSummary summarise_ranking(const std::vector<std::vector<RankedRun>>& groups);

struct OutOfMemorySummary {
  std::size_t rows = 0;
  std::size_t skipped = 0;
  double accuracy = 0;        // share of rows classified right
  std::size_t false_fit = 0;  // ran out of memory, predicted to fit
  std::size_t false_oom = 0;  // fitted, predicted to run out
};
/// Pairs are {predicted, measured}; true = out of memory.
[[nodiscard]] OutOfMemorySummary summarise_out_of_memory(const std::vector<std::pair<bool, bool>>& outcomes,
                                                         std::size_t skipped);

}  // namespace hexaplan::validator
