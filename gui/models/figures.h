#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "costmodel/step/estimate.h"
#include "gui/models/cell.h"

namespace hexaplan::gui {

/// One number of an estimate, as tables and summaries show it.
struct Figure {
  QString group;  // "memory", "time", …
  QString name;
  QString meaning;
  CellUnit unit = CellUnit::Plain;
  std::optional<double> value;  // base units
  bool more_is_better = false;
  QString text;  // CellUnit::Text: an input in words, instead of `value`
  /// What is left of something: near nothing, a share of it says nothing.
  bool remainder = false;
};

/// Every number of an estimate in a fixed order, the same for every estimate, so that two of them can be laid
/// side by side: memory of the fullest stage by kind, time by cause, throughput, cost for the recipe's
/// tokens.
[[nodiscard]] std::vector<Figure> figuresOf(const costmodel::Scenario& scenario,
                                            const costmodel::Estimate& estimate);

}  // namespace hexaplan::gui
