#pragma once
#include <string>
#include <string_view>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/time_causes.h"
#include "planner/fitting/fitting_changes.h"

namespace hexaplan::cli {

[[nodiscard]] constexpr std::string_view name_of_provenance(costmodel::Provenance provenance) {
  switch (provenance) {
    case costmodel::Provenance::Measured:
      return "measured";
    case costmodel::Provenance::Borrowed:
      return "borrowed";
    case costmodel::Provenance::Prior:
      return "prior";
  }
  return "?";
}

/// "--recompute full", "zero1 in the layout": what to write on the command line.
[[nodiscard]] inline std::string change_in_words(const planner::FittingChange& change) {
  std::string text;
  for (const planner::ChangedSetting& setting : change.settings) {
    if (!text.empty()) text += " and ";
    if (setting.name == "layout") {
      text.append(setting.value).append(" in the layout");
    } else {
      text.append("--").append(setting.name).append(" ").append(setting.value);
    }
  }
  return text;
}

inline constexpr std::string_view kUtilisationConvention =
    "model FLOPs with causal attention halved and the input embedding excluded, over the dense peak of the "
    "precision";

}  // namespace hexaplan::cli
