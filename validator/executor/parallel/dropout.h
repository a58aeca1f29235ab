#pragma once
#include <cstdint>

#include "costmodel/program/names.h"
#include "validator/executor/device/dropout.h"
#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

// Every layout drops the same numbers: a form names the sequence in the global batch, the position, the head
// and the column of what it is asked for, and the layer and the step that run.

/// Key of a step's dropouts.
[[nodiscard]] std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step);

/// What is left out of hidden states before they join the residual stream at `site`. `positions`: of the
/// rank's tokens, of which the matrix has `rows`: all, or with sequence parallelism this rank's.
[[nodiscard]] DropoutForm dropout_of_hidden(const Rank& rank, costmodel::program::Site site,
                                            const View& positions, std::int64_t rows);
/// What is left out of attention's probabilities: columns are keys, head after head of those that this rank
/// attends with. Rows are whole sequences.
[[nodiscard]] DropoutForm dropout_of_scores(const Rank& rank);

}  // namespace hexaplan::validator
