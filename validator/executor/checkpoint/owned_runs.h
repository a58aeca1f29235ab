#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "validator/executor/parallel/data.h"

namespace hexaplan::validator {

/// A run of what a rank owns of a parameter: where it lies in the part and in the unsharded tensor.
struct OwnedRun {
  std::int64_t local = 0;
  std::int64_t global = 0;
  std::int64_t count = 0;
};

/// The part by consecutive elements of the unsharded tensor; padding is left out.
[[nodiscard]] inline std::vector<OwnedRun> runs_of(const OwnedPart& part) {
  std::vector<OwnedRun> runs;
  const std::int64_t cols = part.tensor->cols;
  const std::int64_t elements = part.view.elements();
  for (std::int64_t at = 0; at < elements;) {
    const std::int64_t rest_of_row = cols - (part.first + at) % cols;
    const std::int64_t count = std::min(rest_of_row, elements - at);
    const std::int64_t global = part.tensor->global_index(part.first + at);
    const bool goes_on = !runs.empty() && global >= 0 && runs.back().global + runs.back().count == global &&
                         runs.back().local + runs.back().count == at;
    if (goes_on) {
      runs.back().count += count;
    } else if (global >= 0) {
      runs.push_back({at, global, count});
    }
    at += count;
  }
  return runs;
}

/// Unit and parameter whose values the part has: the last stage's copy of the word table is the embedding,
/// and the final norm belongs to the head, whether or not it is a unit of its own.
[[nodiscard]] inline std::pair<int, std::string> original_of(const OwnedPart& part) {
  if (part.unit == UnitPlan::kTiedCopy) return {UnitPlan::kEmbedding, "embedding.word.weight"};
  if (part.unit == UnitPlan::kFinalNorm) return {UnitPlan::kHead, std::string{part.tensor->name}};
  return {part.unit, std::string{part.tensor->name}};
}

}  // namespace hexaplan::validator
