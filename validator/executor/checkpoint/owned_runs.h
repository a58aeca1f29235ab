#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
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

/// Elements of a part that come to the host at a time: 8 MiB in float64, however large the part is.
inline constexpr std::int64_t kElementsAtOnce = std::int64_t{1} << 20;

/// Consecutive elements of a part and what they are of the unsharded tensor, `local` counted from the piece's
/// begin.
struct OwnedPiece {
  View view;
  std::vector<OwnedRun> runs;
};

/// Calls visit(piece) for all of the part, piece by piece.
template <class Visit>
void for_each_piece(const OwnedPart& part, const Visit& visit, std::int64_t at_once = kElementsAtOnce) {
  const std::vector<OwnedRun> runs = runs_of(part);
  auto next = runs.begin();
  const std::int64_t elements = part.view.elements();
  for (std::int64_t begin = 0; begin < elements; begin += at_once) {
    const std::int64_t end = std::min(begin + at_once, elements);
    OwnedPiece piece{.view = part.view.slice(begin, end - begin), .runs = {}};
    for (; next != runs.end() && next->local < end; ++next) {
      const std::int64_t from = std::max(next->local, begin), to = std::min(next->local + next->count, end);
      piece.runs.push_back({from - begin, next->global + from - next->local, to - from});
      if (next->local + next->count > end) break;  // it goes on in the next piece
    }
    visit(piece);
  }
}

/// The run's numbers among those of its piece.
template <class Values>
[[nodiscard]] auto values_of_run(Values& values, const OwnedRun& run) {
  return std::span{values}.subspan(static_cast<std::size_t>(run.local), static_cast<std::size_t>(run.count));
}

/// Unit and parameter whose values the part has: the last stage's copy of the word table is the embedding,
/// and the final norm belongs to the head, whether or not it is a unit of its own.
[[nodiscard]] inline std::pair<int, std::string> original_of(const OwnedPart& part) {
  if (part.unit == UnitPlan::kTiedCopy) return {UnitPlan::kEmbedding, "embedding.word.weight"};
  if (part.unit == UnitPlan::kFinalNorm) return {UnitPlan::kHead, std::string{part.tensor->name}};
  return {part.unit, std::string{part.tensor->name}};
}

}  // namespace hexaplan::validator
