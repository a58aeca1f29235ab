#pragma once
#include <compare>
#include <cstddef>
#include <optional>
#include <vector>

#include "validator/executor/interpreter/operation.h"
#include "validator/executor/memory/step_place.h"

namespace hexaplan::validator {

/// The operation that first made a number that is none, or infinite. What comes first in the flow of one
/// micro-batch's data compares less, whatever rank runs it: micro-batches do not read one another's values.
struct NotFiniteOrigin {
  int microbatch = 0;
  int phase = 0;      // program::Phase
  int depth = 0;      // units that the data has passed in this phase
  int op = 0;         // position in the unit's program
  StepPlace place{};  // its words with what is known of the cause

  friend auto operator<=>(const NotFiniteOrigin&, const NotFiniteOrigin&) = default;  // NOLINT(*-nullptr)
};

/// Looks at every result of a step that is run once more to find where its numbers went wrong. Slow: what
/// operations write comes to the host.
class FirstNotFinite {
 public:
  /// The operation at position `at` of its program has run.
  void look(const Operation& o, std::size_t at);
  /// The earliest on this rank so far.
  [[nodiscard]] const std::optional<NotFiniteOrigin>& found() const { return found_; }

 private:
  [[nodiscard]] bool writes_not_finite(const Operation& o);
  [[nodiscard]] bool holds_not_finite(Device& device, const View& view, bool may_be_minus_infinity);

  std::optional<NotFiniteOrigin> found_;
  std::vector<double> values_;
};

/// The rank that found what comes first, if any did; of several the first. Collective over `world`.
[[nodiscard]] std::optional<int> rank_of_earliest(Communicator& world,
                                                  const std::optional<NotFiniteOrigin>& mine);

/// What runs on a rank, as people look for it.
[[nodiscard]] StepPlace place_of(const Operation& o);

}  // namespace hexaplan::validator
