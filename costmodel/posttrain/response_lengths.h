#pragma once
#include <cstdint>
#include <vector>

#include "costmodel/posttrain/post_training.h"

namespace hexaplan::costmodel {

/// Lengths of `count` responses with this mean and this longest one, in the order in which they are asked
/// for. Of all distributions up to the longest, the one of the largest entropy with that mean: an exponential
/// that is cut there, so that nothing is assumed beside the two numbers.  [docs/formulas.md#T13]
/// Preconditions: 0 < mean <= longest, count >= 1.
[[nodiscard]] std::vector<std::int64_t> response_lengths(const TokenLengths& lengths, std::int64_t count);

}  // namespace hexaplan::costmodel
