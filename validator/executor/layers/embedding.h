#pragma once
#include "validator/executor/layers/linear.h"
#include "validator/executor/parallel/data.h"

namespace hexaplan::validator {

/// First row of the padded vocabulary that this rank holds, and how many of its rows are words.
struct VocabularyPart {
  std::int64_t first = 0, rows = 0, words = 0;
};
[[nodiscard]] VocabularyPart vocabulary_part(const Rank& rank);

/// Rows of the table for `ids` (N×1): each rank looks up the words it holds, the sum is the embedding.
[[nodiscard]] Tensor embedding_forward(const Rank& rank, const Unit& unit, const View& ids);
/// Adds d, the gradient of this rank's tokens, to the rows of the table.
void embedding_backward(const Rank& rank, const Unit& unit, const View& ids, const View& d);

}  // namespace hexaplan::validator
