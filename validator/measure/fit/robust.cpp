#include "validator/measure/fit/robust.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace hexaplan::validator {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

constexpr double kHuber = 1.345;
constexpr double kNormalMedian = 0.6744897501960817;  // of |x| under the standard normal distribution
constexpr int kMostIterations = 30;
constexpr double kSettled = 1e-8;

std::vector<double> to_vector(const Vector& v) {
  return {v.data(), v.data() + v.size()};
}

double tuned(const Vector& residuals, double tuning, double scale) {
  if (tuning > 0) return tuning;
  // Data without noise: weights of rounding errors say nothing.
  return std::max(kHuber * robust_sigma(to_vector(residuals)), 1e-12 * scale);
}

/// Unknowns that nothing speaks of become 0. The penalty of a grid makes its matrix positive definite, which
/// is quicker.
Eigen::MatrixXd solve_normal(const Eigen::MatrixXd& normal, const Eigen::MatrixXd& right, bool definite) {
  if (definite) return normal.ldlt().solve(right);
  return normal.completeOrthogonalDecomposition().solve(right);
}

Vector weights_of(const Vector& residuals, double limit) {
  return residuals.unaryExpr([limit](double r) { return std::abs(r) <= limit ? 1.0 : limit / std::abs(r); });
}

}  // namespace

LinearFit fit_robust(const LinearProblem& problem, double tuning) {
  const auto rows = static_cast<Eigen::Index>(problem.values.size());
  const auto columns = static_cast<Eigen::Index>(problem.columns);
  assert(rows >= 1 && problem.rows.size() == problem.values.size() * problem.columns);
  assert(problem.weights.empty() || problem.weights.size() == problem.values.size());
  const Eigen::Map<const Matrix> a{problem.rows.data(), rows, columns};
  const Eigen::Map<const Vector> y{problem.values.data(), rows};
  const bool definite = !problem.penalty.empty();
  Matrix penalty = Matrix::Zero(columns, columns);
  if (definite) penalty = Eigen::Map<const Matrix>{problem.penalty.data(), columns, columns};

  Vector given = Vector::Ones(rows);
  if (!problem.weights.empty()) given = Eigen::Map<const Vector>{problem.weights.data(), rows};
  Vector weights = given, x = Vector::Zero(columns), residuals = y;
  Eigen::MatrixXd normal;
  const double scale = y.cwiseAbs().maxCoeff();
  for (int i = 0; i < kMostIterations; ++i) {
    normal = a.transpose() * weights.asDiagonal() * a + penalty;
    const Vector next = solve_normal(normal, a.transpose() * weights.cwiseProduct(y), definite);
    const double change = (next - x).norm();
    x = next;
    residuals = y - a * x;
    if (change <= kSettled * x.norm()) break;
    weights = given.cwiseProduct(weights_of(residuals, tuned(residuals, tuning, scale)));
  }
  LinearFit fit{.x = to_vector(x), .error = {}, .residuals = to_vector(residuals), .sigma = 0};
  fit.sigma = robust_sigma(fit.residuals);
  const Eigen::MatrixXd inverse = solve_normal(normal, Eigen::MatrixXd::Identity(columns, columns), definite);
  for (Eigen::Index i = 0; i < columns; ++i)
    fit.error.push_back(fit.sigma * std::sqrt(std::max(0.0, inverse(i, i))));
  return fit;
}

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double median_of(std::vector<double> values) {
  return quantile_of(std::move(values), 0.5);
}

double robust_sigma(const std::vector<double>& residuals) {
  std::vector<double> distances;
  distances.reserve(residuals.size());
  for (const double r : residuals) distances.push_back(std::abs(r));
  return median_of(std::move(distances)) / kNormalMedian;
}

double weighted_median(const std::vector<double>& values, const std::vector<double>& weights) {
  assert(values.size() == weights.size());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const double half = std::accumulate(weights.begin(), weights.end(), 0.0) / 2;
  double below = 0;
  for (const std::size_t i : order) {
    below += weights[i];
    if (below >= half) return values[i];
  }
  return 0;
}

double sigma_of_distances(const std::vector<double>& distances, const std::vector<double>& weights) {
  return weighted_median(distances, weights) / kNormalMedian;
}

std::vector<double> never_falling(const std::vector<double>& values) {
  struct Block {
    double sum;
    std::size_t size;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(size); }
  };
  std::vector<Block> blocks;
  for (const double value : values) {
    blocks.push_back({value, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().size += last.size;
    }
  }
  std::vector<double> result;
  for (const Block& block : blocks) result.insert(result.end(), block.size, block.mean());
  return result;
}

}  // namespace hexaplan::validator
