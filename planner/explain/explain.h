#pragma once
#include <string_view>
#include <vector>

#include "costmodel/step/estimate.h"

namespace hexaplan::planner {

/// One term of two estimates. Values of time terms are seconds per step, of memory terms bytes on the device.
struct Term {
  std::string_view key;   // "gemm", "bubble", "optimizer" …
  std::string_view name;  // "matrix products", "pipeline bubble", "optimizer states" …
  double a = 0, b = 0;
  [[nodiscard]] double difference() const { return b - a; }
};

/// Two plans side by side.
struct Explanation {
  std::vector<Term> time;        // causes of StepTime; their differences add up to that of the step time
  std::vector<Term> memory;      // kinds on the fullest stage; their differences add up to that of the peaks
  int stage_a = 0, stage_b = 0;  // the fullest stages
};

/// Why one is faster or smaller than the other: every term, those that differ most first.
/// Preconditions: neither was rejected by a rule.
[[nodiscard]] Explanation explain(const costmodel::Estimate& a, const costmodel::Estimate& b);

}  // namespace hexaplan::planner
