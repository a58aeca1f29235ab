#pragma once
#include <cstdint>
#include <vector>

namespace hexaplan::validator {

/// What a head takes off a score per token of distance, for all `heads` of a model: a geometric sequence that
/// starts at 2^(-8/n) and has that ratio, n = heads; where heads are no power of two, that of the power below
/// and then every other number of that of the power above (arXiv:2108.12409 §3 and the authors' code).
[[nodiscard]] std::vector<double> alibi_slopes(std::int64_t heads);

}  // namespace hexaplan::validator
