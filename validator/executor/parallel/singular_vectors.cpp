#include "validator/executor/parallel/singular_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace hexaplan::validator {
namespace {

/// Columns of a matrix with at least as many rows, rotated among each other until all are orthogonal; with
/// them those of the identity, which become the right singular vectors (one-sided Jacobi: Hestenes 1958;
/// Golub, Van Loan, "Matrix Computations", 4th edition, section 8.6.3).
class RotatedColumns {
 public:
  RotatedColumns(std::span<const double> matrix, std::int64_t rows, std::int64_t cols)
      : length_{static_cast<std::size_t>(std::max(rows, cols))},
        count_{static_cast<std::size_t>(std::min(rows, cols))},
        columns_(length_ * count_),
        vectors_(count_ * count_) {
    const bool tall = rows >= cols;
    for (std::size_t c = 0; c < count_; ++c) {
      vectors_[c * count_ + c] = 1;
      for (std::size_t r = 0; r < length_; ++r)
        columns_[c * length_ + r] = tall ? matrix[r * count_ + c] : matrix[c * length_ + r];
    }
  }
  void orthogonalise() {
    constexpr int kMostSweeps = 60;
    for (int sweep = 0; sweep < kMostSweeps && rotate_all(); ++sweep) {
    }
  }
  /// Columns by length, the longest first.
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> order(count_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<double> squares(count_);
    for (std::size_t c = 0; c < count_; ++c) squares[c] = dot(column(c), column(c));
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return squares[a] > squares[b]; });
    return order;
  }
  [[nodiscard]] std::span<const double> vector(std::size_t c) const {
    return std::span{vectors_}.subspan(c * count_, count_);
  }

 private:
  [[nodiscard]] std::span<const double> column(std::size_t c) const {
    return std::span{columns_}.subspan(c * length_, length_);
  }
  static double dot(std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }
  static void rotate(std::span<double> a, std::span<double> b, double cosine, double sine) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = a[i], y = b[i];
      a[i] = cosine * x - sine * y;
      b[i] = sine * x + cosine * y;
    }
  }
  /// False where no pair was left to rotate.
  bool rotate_all() {
    constexpr double kOrthogonal = 1e-15;
    bool rotated = false;
    for (std::size_t p = 0; p < count_; ++p) {
      for (std::size_t q = p + 1; q < count_; ++q) {
        const double pp = dot(column(p), column(p)), qq = dot(column(q), column(q)),
                     pq = dot(column(p), column(q));
        if (std::abs(pq) <= kOrthogonal * std::sqrt(pp * qq)) continue;
        rotated = true;
        const double zeta = (qq - pp) / (2 * pq);
        const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double cosine = 1 / std::hypot(1.0, tangent), sine = cosine * tangent;
        rotate(std::span{columns_}.subspan(p * length_, length_),
               std::span{columns_}.subspan(q * length_, length_), cosine, sine);
        rotate(std::span{vectors_}.subspan(p * count_, count_),
               std::span{vectors_}.subspan(q * count_, count_), cosine, sine);
      }
    }
    return rotated;
  }

  std::size_t length_, count_;
  std::vector<double> columns_, vectors_;  // one behind the other
};

}  // namespace

std::vector<double> leading_singular_vectors(std::span<const double> matrix, std::int64_t rows,
                                             std::int64_t cols, std::int64_t count) {
  RotatedColumns columns{matrix, rows, cols};
  columns.orthogonalise();
  const std::vector<std::size_t> order = columns.order();
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::span<const double> vector = columns.vector(order[static_cast<std::size_t>(i)]);
    const auto largest =
        std::ranges::max_element(vector, [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double sign = *largest < 0 ? -1 : 1;
    for (const double x : vector) out.push_back(sign * x);
  }
  return out;
}

}  // namespace hexaplan::validator
