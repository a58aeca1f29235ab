#pragma once
#include <optional>
#include <string>
#include <vector>

#include "costmodel/step/estimate.h"

namespace hexaplan::report {

/// One number of an answer.
struct Figure {
  std::string label;
  std::string unit;             // of the plain number
  std::optional<double> value;  // nothing: a rule rejected the layout, or no token budget was said
  std::string (*format)(double);
  bool part = false;  // of a total above it
};

/// Every number of an estimate in a fixed order, the same for every estimate, so that two can be laid side by
/// side: time by cause, throughput, memory of the fullest stage by kind, chance of running out, cost of the
/// recipe's tokens.
[[nodiscard]] std::vector<Figure> figures_of(const costmodel::Scenario& scenario,
                                             const costmodel::Estimate& estimate);

/// "12.3 s" for the first of several, "11.0 s (-10.6 %)" for the others.
[[nodiscard]] std::string figure_text(const Figure& figure, std::optional<double> first = std::nullopt);

/// Whether a figure is left out of a list because it is a part that is nothing in all of `answers`, of which
/// it is number `index`. Precondition: all have figures_of's order.
[[nodiscard]] bool says_nothing(const std::vector<std::vector<Figure>>& answers, std::size_t index);

}  // namespace hexaplan::report
