#pragma once
#include <cstdint>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// First row of the padded vocabulary that this rank holds, and how many of its rows are words.
struct VocabularyPart {
  std::int64_t first = 0, rows = 0, words = 0;
};
[[nodiscard]] VocabularyPart vocabulary_part(const Rank& rank);

}  // namespace hexaplan::validator
