#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace hexaplan::validator {

/// The leading `count` singular vectors of a rows × cols matrix, one behind the other: of its shorter side,
/// the right ones where it is square. Largest singular value first; of each vector the component of largest
/// magnitude, the first of several, is positive: decompositions leave signs open. On the host, in double
/// precision, by Eigen's divide and conquer.
[[nodiscard]] std::vector<double> leading_singular_vectors(std::span<const double> matrix, std::int64_t rows,
                                                           std::int64_t cols, std::int64_t count);

}  // namespace hexaplan::validator
