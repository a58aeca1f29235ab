#include "validator/executor/parallel/eigenbases.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace hexaplan::validator {
namespace {

using SquareRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// What rounding makes of zero, of the largest there is.
constexpr double kZeroShare = 1e-12;

Eigen::Map<const SquareRows> matrix_of(std::span<const double> values, std::int64_t side) {
  return {values.data(), side, side};
}
std::vector<double> values_of(const SquareRows& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

/// The first `kept` columns stay; the others become unit vectors without what is in those before them.
void complete_basis(SquareRows& basis, Eigen::Index kept) {
  const Eigen::Index side = basis.rows();
  const auto known = basis.leftCols(kept);
  SquareRows rest = SquareRows::Identity(side, side) - known * known.transpose();
  for (Eigen::Index column = kept; column < side; ++column) {
    Eigen::Index farthest = 0;
    for (Eigen::Index i = 1; i < side; ++i)
      if (rest(i, i) > rest(farthest, farthest) + kZeroShare) farthest = i;
    const Eigen::VectorXd vector = rest.col(farthest).normalized();
    basis.col(column) = vector;
    rest -= vector * vector.transpose();
  }
}

}  // namespace

std::vector<double> eigenbasis(std::span<const double> matrix, std::int64_t side) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver{matrix_of(matrix, side)};
  const double largest = solver.eigenvalues()[side - 1];
  SquareRows basis = solver.eigenvectors().rowwise().reverse();
  Eigen::Index kept = 0;
  while (kept < side && solver.eigenvalues()[side - 1 - kept] > kZeroShare * largest) ++kept;
  complete_basis(basis, kept);
  return values_of(basis);
}

std::vector<std::int64_t> order_by_eigenvalue(std::span<const double> matrix, std::span<const double> basis,
                                              std::int64_t side) {
  const auto vectors = matrix_of(basis, side);
  const Eigen::VectorXd estimates = (vectors.transpose() * matrix_of(matrix, side) * vectors).diagonal();
  const double zero = kZeroShare * estimates.cwiseAbs().maxCoeff();
  std::vector<std::int64_t> order(static_cast<std::size_t>(side));
  std::iota(order.begin(), order.end(), 0);
  // Of what is zero but for rounding nothing is the larger.
  const auto estimate = [&](std::int64_t i) { return estimates[i] > zero ? estimates[i] : 0; };
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return estimate(a) > estimate(b); });
  return order;
}

std::vector<double> iterated_basis(std::span<const double> matrix, std::span<const double> basis,
                                   std::span<const std::int64_t> order, std::int64_t side) {
  const auto vectors = matrix_of(basis, side);
  Eigen::MatrixXd ordered{side, side};
  for (Eigen::Index i = 0; i < side; ++i) ordered.col(i) = vectors.col(order[static_cast<std::size_t>(i)]);
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr{matrix_of(matrix, side) * ordered};
  const Eigen::VectorXd lengths = qr.matrixQR().diagonal().cwiseAbs();
  SquareRows out = qr.householderQ();
  Eigen::Index kept = 0;
  while (kept < side && lengths[kept] > kZeroShare * lengths.maxCoeff()) ++kept;
  complete_basis(out, kept);
  return values_of(out);
}

std::vector<double> inverse_root(std::span<const double> matrix, std::int64_t side, double divisor,
                                 double epsilon, double root) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver{matrix_of(matrix, side) / divisor};
  const Eigen::MatrixXd& vectors = solver.eigenvectors();
  const Eigen::VectorXd roots = solver.eigenvalues().unaryExpr(
      [&](double value) { return std::pow(std::max(value, 0.0) + epsilon, -1 / root); });
  return values_of(vectors * roots.asDiagonal() * vectors.transpose());
}

}  // namespace hexaplan::validator
