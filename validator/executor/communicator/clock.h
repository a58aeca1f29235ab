#pragma once
#include <chrono>

#include "costmodel/units/quantity.h"

namespace hexaplan::validator {

[[nodiscard]] inline std::chrono::steady_clock::duration duration_of(costmodel::Seconds time) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>{time.value()});
}

}  // namespace hexaplan::validator
