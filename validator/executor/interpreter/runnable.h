#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "costmodel/program/lifetimes.h"
#include "costmodel/program/ops.h"

namespace hexaplan::validator {

/// A compiled program with what running it needs to know beforehand.
struct Runnable {
  explicit Runnable(costmodel::program::Program compiled);

  /// Positions [begin, end) of the operations of a phase.
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  costmodel::program::Program program;
  costmodel::program::Lifetimes lifetimes;
  std::array<Range, costmodel::program::kPhases> phases{};
  std::vector<std::vector<costmodel::program::ValueId>> taken_by;  // by buffer: the values that it takes
};

}  // namespace hexaplan::validator
