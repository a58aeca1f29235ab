#pragma once
#include <compare>
#include <optional>
#include <string>
#include <utility>

namespace hexaplan::validator {

/// Where in a step something went wrong.
struct StepPlace {
  std::string text;       // "mlp.up of layer 3 (forward, micro-batch 0)"
  std::string operation;  // "mlp.up"; empty: between the operations of a program
  int layer = -1;         // -1: none of the layers
  int microbatch = -1;

  friend auto operator<=>(const StepPlace&, const StepPlace&) = default;  // NOLINT(*-nullptr)
};

/// What errors inherit that say where they lie: a fault then names this, and not the rank's last message,
/// which may be of long before.
class PlacedError {
 public:
  [[nodiscard]] const std::optional<StepPlace>& place() const { return place_; }

 protected:
  PlacedError() = default;
  explicit PlacedError(StepPlace place) : place_{std::move(place)} {}

  std::optional<StepPlace> place_;  // NOLINT(*-non-private-member-variables-in-classes): of derived errors
};

}  // namespace hexaplan::validator
