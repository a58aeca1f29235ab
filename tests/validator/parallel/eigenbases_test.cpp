// What SOAP keeps moments in, and what Shampoo multiplies gradients by.
#include "validator/executor/parallel/eigenbases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hexaplan::tests {
namespace {

using Values = std::vector<double>;

double entry(const Values& matrix, std::int64_t side, std::int64_t row, std::int64_t col) {
  return matrix[static_cast<std::size_t>(row * side + col)];
}
Values product(const Values& a, const Values& b, std::int64_t side) {
  Values out(a.size());
  for (std::int64_t r = 0; r < side; ++r)
    for (std::int64_t c = 0; c < side; ++c)
      for (std::int64_t k = 0; k < side; ++k)
        out[static_cast<std::size_t>(r * side + c)] += entry(a, side, r, k) * entry(b, side, k, c);
  return out;
}
Values transposed(const Values& a, std::int64_t side) {
  Values out(a.size());
  for (std::int64_t r = 0; r < side; ++r)
    for (std::int64_t c = 0; c < side; ++c)
      out[static_cast<std::size_t>(c * side + r)] = entry(a, side, r, c);
  return out;
}
/// Second moments of so many gradients of one column each.
Values second_moments(std::int64_t side, std::int64_t gradients, unsigned seed = 42) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  Values out(static_cast<std::size_t>(side * side));
  for (std::int64_t g = 0; g < gradients; ++g) {
    Values column(static_cast<std::size_t>(side));
    for (double& x : column) x = normal(random);
    for (std::int64_t r = 0; r < side; ++r)
      for (std::int64_t c = 0; c < side; ++c)
        out[static_cast<std::size_t>(r * side + c)] +=
            column[static_cast<std::size_t>(r)] * column[static_cast<std::size_t>(c)];
  }
  return out;
}
void expect_identity(const Values& matrix, std::int64_t side) {
  for (std::int64_t r = 0; r < side; ++r)
    for (std::int64_t c = 0; c < side; ++c) EXPECT_NEAR(entry(matrix, side, r, c), r == c ? 1 : 0, 1e-12);
}

constexpr struct { std::int64_t side, gradients; } kMoments[] = {{1, 1}, {5, 9}, {8, 8}, {12, 5}, {20, 3}};

/// Σ of squares.
double beside_the_diagonal(const Values& matrix, std::int64_t side) {
  double sum = 0;
  for (std::int64_t r = 0; r < side; ++r)
    for (std::int64_t c = 0; c < side; ++c) sum += r == c ? 0 : std::pow(entry(matrix, side, r, c), 2);
  return sum;
}
/// What a basis leaves of a matrix.
Values left_by(const Values& basis, const Values& matrix, std::int64_t side) {
  return product(transposed(basis, side), product(matrix, basis, side), side);
}

TEST(eigenbases, are_orthonormal_and_leave_the_largest_first) {
  for (const auto& [side, gradients] : kMoments) {
    const Values moments = second_moments(side, gradients), basis = validator::eigenbasis(moments, side);
    expect_identity(product(transposed(basis, side), basis, side), side);
    const Values left = left_by(basis, moments, side);
    EXPECT_LT(std::sqrt(beside_the_diagonal(left, side)), 1e-11 * left.front());
    for (std::int64_t r = 1; r < side; ++r)
      EXPECT_LE(entry(left, side, r, r), entry(left, side, r - 1, r - 1) + 1e-11);
  }
}

/// Rounding does not choose them: moments that differ by rounding have the same basis.
TEST(eigenbases, of_what_maps_to_zero_do_not_follow_rounding) {
  for (const auto& [side, gradients] : kMoments) {
    const Values moments = second_moments(side, gradients);
    Values rounded = moments;
    for (std::int64_t r = 0; r < side; ++r)
      for (std::int64_t c = 0; c <= r; ++c) {
        const double change = 1 + 1e-16 * static_cast<double>((3 * r + 5 * c) % 7 - 3);
        rounded[static_cast<std::size_t>(r * side + c)] *= change;
        rounded[static_cast<std::size_t>(c * side + r)] = rounded[static_cast<std::size_t>(r * side + c)];
      }
    const Values a = validator::eigenbasis(moments, side), b = validator::eigenbasis(rounded, side);
    for (std::int64_t c = 0; c < side; ++c) {
      double same = 0;
      for (std::int64_t r = 0; r < side; ++r) same += entry(a, side, r, c) * entry(b, side, r, c);
      EXPECT_NEAR(std::abs(same), 1, 1e-10) << side << " by " << gradients << ", column " << c;
    }
  }
}

TEST(eigenbases, iterated_come_nearer_to_the_new_moments) {
  constexpr std::int64_t kSide = 6;
  const Values moments = second_moments(kSide, 40);
  Values basis = validator::eigenbasis(second_moments(kSide, 40, 7), kSide);
  const double before = beside_the_diagonal(left_by(basis, moments, kSide), kSide);
  for (int i = 0; i < 200; ++i) {
    basis = validator::iterated_basis(moments, basis, validator::order_by_eigenvalue(moments, basis, kSide),
                                      kSide);
    expect_identity(product(transposed(basis, kSide), basis, kSide), kSide);
  }
  EXPECT_LT(beside_the_diagonal(left_by(basis, moments, kSide), kSide), 1e-6 * before);
}

TEST(eigenbases, inverse_roots_are_roots_of_the_inverse) {
  for (const auto& [side, gradients] : kMoments) {
    const Values moments = second_moments(side, gradients),
                 root = validator::inverse_root(moments, side, 2, 0.1, 4);
    const Values fourth = product(product(root, root, side), product(root, root, side), side);
    Values damped = moments;
    for (double& x : damped) x /= 2;
    for (std::int64_t r = 0; r < side; ++r) damped[static_cast<std::size_t>(r * (side + 1))] += 0.1;
    expect_identity(product(fourth, damped, side), side);
  }
}

}  // namespace
}  // namespace hexaplan::tests
