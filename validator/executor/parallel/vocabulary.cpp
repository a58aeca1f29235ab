#include "validator/executor/parallel/vocabulary.h"

#include <algorithm>

namespace hexaplan::validator {

VocabularyPart vocabulary_part(const Rank& rank) {
  const std::int64_t rows = rank.dims.vocab;
  const std::int64_t first = rank.position(costmodel::Axis::Tensor) * rows;
  return {.first = first,
          .rows = rows,
          .words = std::clamp<std::int64_t>(rank.scenario.model.vocab - first, 0, rows)};
}

}  // namespace hexaplan::validator
