#pragma once
#include <cstddef>
#include <vector>

namespace hexaplan::validator {

/// A linear model's rows, one after the other, and what they should give.
struct LinearProblem {
  std::size_t columns = 0;
  std::vector<double> rows;  // row-major
  std::vector<double> values;
  std::vector<double> weights;  // of the rows' squares; empty: all 1
  /// Added to the normal equations, columns × columns, row-major; empty = none. Keeps unknowns that no row
  /// speaks of where their neighbours are.
  std::vector<double> penalty;
};

struct LinearFit {
  std::vector<double> x;
  std::vector<double> error;      // one standard deviation of each x
  std::vector<double> residuals;  // value − row·x
  double sigma = 0;               // of the residuals, by their median
};

/// Least squares with Huber's weights, iterated (P. J. Huber, Robust Statistics, 1981, §7.8): residuals
/// beyond `tuning` count linearly. `tuning` 0: 1.345 σ, with σ from the residuals' median, which is 95 % as
/// sharp as least squares where all errors are normal. Precondition: at least one row.
[[nodiscard]] LinearFit fit_robust(const LinearProblem& problem, double tuning = 0);

/// Middle of the values; 0 when there are none.
[[nodiscard]] double median_of(std::vector<double> values);
/// Value that `share` of them do not exceed.
[[nodiscard]] double quantile_of(std::vector<double> values, double share);
/// Standard deviation that a normal distribution of this median distance from zero has.
[[nodiscard]] double robust_sigma(const std::vector<double>& residuals);
/// Value that half of the weight does not exceed; 0 when there are none.
[[nodiscard]] double weighted_median(const std::vector<double>& values, const std::vector<double>& weights);
/// Standard deviation that a normal distribution of this median distance from zero has: distances
/// without their sign, each counting as often as its weight says.
[[nodiscard]] double sigma_of_distances(const std::vector<double>& distances,
                                        const std::vector<double>& weights);
/// The nearest values that never fall (pool adjacent violators; Barlow et al. 1972).
[[nodiscard]] std::vector<double> never_falling(const std::vector<double>& values);

}  // namespace hexaplan::validator
