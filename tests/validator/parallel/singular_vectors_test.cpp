// What GaLore projects on: the leading singular vectors of a gradient's shorter side.
#include "validator/executor/parallel/singular_vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace hexaplan::tests {
namespace {

using validator::leading_singular_vectors;
using Numbers = std::vector<double>;

struct Shape {
  std::int64_t rows, cols, count;
  [[nodiscard]] std::int64_t shorter() const { return std::min(rows, cols); }
};
constexpr Shape kShapes[] = {{1, 1, 1}, {5, 1, 1}, {1, 5, 1}, {12, 5, 5}, {8, 20, 3}, {30, 30, 30}};

Numbers random_matrix(const Shape& s) {
  std::mt19937_64 random{42};
  std::normal_distribution<double> normal;
  Numbers matrix(static_cast<std::size_t>(s.rows * s.cols));
  for (double& x : matrix) x = normal(random);
  return matrix;
}
double at(const Numbers& matrix, std::int64_t row, std::int64_t cols, std::int64_t col) {
  return matrix[static_cast<std::size_t>(row * cols + col)];
}
/// ‖matrix·v‖, or of its transpose where that is the longer one: v's singular value.
double stretched(const Shape& s, const Numbers& matrix, const Numbers& vectors, std::int64_t which) {
  const bool tall = s.rows >= s.cols;
  double sum = 0;
  for (std::int64_t i = 0; i < std::max(s.rows, s.cols); ++i) {
    double product = 0;
    for (std::int64_t k = 0; k < s.shorter(); ++k)
      product +=
          (tall ? at(matrix, i, s.cols, k) : at(matrix, k, s.cols, i)) * at(vectors, which, s.shorter(), k);
    sum += product * product;
  }
  return std::sqrt(sum);
}

TEST(singular_vectors, are_orthonormal_and_stretch_most_first) {
  for (const Shape& s : kShapes) {
    const Numbers matrix = random_matrix(s), v = leading_singular_vectors(matrix, s.rows, s.cols, s.count);
    ASSERT_EQ(std::ssize(v), s.count * s.shorter());
    for (std::int64_t a = 0; a < s.count; ++a) {
      for (std::int64_t b = 0; b < s.count; ++b) {
        double dot = 0;
        for (std::int64_t k = 0; k < s.shorter(); ++k)
          dot += at(v, a, s.shorter(), k) * at(v, b, s.shorter(), k);
        EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-13);
      }
      if (a > 0) {
        EXPECT_LE(stretched(s, matrix, v, a), stretched(s, matrix, v, a - 1) + 1e-12);
      }
    }
  }
}

/// All together the squares of what they stretch are those of the matrix.
TEST(singular_vectors, of_all_dimensions_hold_the_whole_matrix) {
  for (const Shape& s : kShapes) {
    const Numbers matrix = random_matrix(s),
                  v = leading_singular_vectors(matrix, s.rows, s.cols, s.shorter());
    double squares = 0, stretches = 0;
    for (const double x : matrix) squares += x * x;
    for (std::int64_t i = 0; i < s.shorter(); ++i) stretches += std::pow(stretched(s, matrix, v, i), 2);
    EXPECT_NEAR(stretches / squares, 1, 1e-13);
  }
}

/// Columns of lengths 3, 2 and 1 that are orthogonal already, and a direction that a matrix of one row has.
TEST(singular_vectors, have_the_largest_component_positive) {
  const Numbers diagonal{0, 0, -1, 0, -3, 0, 2, 0, 0, 0, 0, 0};
  EXPECT_EQ(leading_singular_vectors(diagonal, 4, 3, 3), (Numbers{0, 1, 0, 1, 0, 0, 0, 0, 1}));
  const Numbers outer{-3, -6, 4, 8};  // (-3, 4)·(1, 2)
  const Numbers v = leading_singular_vectors(outer, 2, 2, 1);
  EXPECT_NEAR(v[0], 1 / std::sqrt(5.0), 1e-15);
  EXPECT_NEAR(v[1], 2 / std::sqrt(5.0), 1e-15);
}

TEST(singular_vectors, of_nothing_are_the_axes) {
  EXPECT_EQ(leading_singular_vectors(Numbers(6, 0.0), 2, 3, 2), (Numbers{1, 0, 0, 1}));
}

}  // namespace
}  // namespace hexaplan::tests
