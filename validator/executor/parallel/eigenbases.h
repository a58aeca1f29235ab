#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace hexaplan::validator {

// On the host, in double precision, by Eigen. Bases are square matrices, row by row, whose columns are
// vectors. Decompositions leave open which vectors span what a matrix maps to zero: here unit vectors, each
// time the one that is farthest from those before it, the first of several.

/// Eigenvectors of a symmetric matrix with `side` rows, largest eigenvalue first.
[[nodiscard]] std::vector<double> eigenbasis(std::span<const double> matrix, std::int64_t side);

/// Columns of a basis, ordered by what they leave of the matrix, largest first: bᵀ·matrix·b.
[[nodiscard]] std::vector<std::int64_t> order_by_eigenvalue(std::span<const double> matrix,
                                                            std::span<const double> basis, std::int64_t side);

/// One power iteration of an ordered basis: the orthogonal factor of matrix·basis.
[[nodiscard]] std::vector<double> iterated_basis(std::span<const double> matrix,
                                                 std::span<const double> basis,
                                                 std::span<const std::int64_t> order, std::int64_t side);

/// (matrix/divisor + epsilon)^(−1/root), of a symmetric matrix without negative eigenvalues but for rounding.
[[nodiscard]] std::vector<double> inverse_root(std::span<const double> matrix, std::int64_t side,
                                               double divisor, double epsilon, double root);

}  // namespace hexaplan::validator
