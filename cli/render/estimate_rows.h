#pragma once
#include <string_view>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/time_causes.h"

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

inline constexpr std::string_view kUtilisationConvention =
    "model FLOPs with causal attention halved and the input embedding excluded, over the dense peak of the "
    "precision";

}  // namespace hexaplan::cli
