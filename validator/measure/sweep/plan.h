#pragma once
#include <cstdint>
#include <vector>

#include "costmodel/units/quantity.h"
#include "validator/measure/sweep/point.h"

namespace hexaplan::validator {

/// Rates by which the time of a point is guessed before it is measured.
struct RoughRates {
  costmodel::FlopsPerSecond gemm, attention;
  costmodel::BytesPerSecond memory;
};

/// What a sweep may cost.
struct PlanLimits {
  RoughRates rates;
  costmodel::Seconds longest_run{1.0};  // of one execution
  costmodel::Bytes memory;              // operands and results of one point
  int per_cell = 4;                     // GEMMs per power of two of area and depth
  /// Precisions beside the one that the device computes in: GEMMs of a quarter as many cells, and a sustained
  /// one.
  std::vector<costmodel::Precision> narrow = {};
  /// The GEMM that collectives are measured beside, alone.
  bool beside_messages = false;
};

/// Ranks that collectives can be measured over.
struct RankPlan {
  int ranks = 1;
  int per_node = 1;
  bool overlaps = false;  // a GEMM can run while a collective does
};

/// Guess of one execution. Rates are of bf16; tensor cores multiply eight bits twice as fast.
[[nodiscard]] costmodel::Seconds guess_time(const Point& point, const RoughRates& rates);

/// Points of one device: GEMMs with the shapes of real layers under real tensor-parallel degrees, attention
/// by sequence, head size and mask, memory-bound operations by bytes, launches. Ordered so that any
/// beginning of it is a sweep of all kinds. Points above the limits are left out.
[[nodiscard]] std::vector<Point> plan_kernels(const PlanLimits& limits);

/// Points over the groups that layouts have, all of a kind at once: 2, 4, 8 … neighbours and all ranks, and,
/// over several hosts, ranks in strides. Every collective by payload, and a GEMM beside one.
[[nodiscard]] std::vector<Point> plan_collectives(const RankPlan& ranks, const PlanLimits& limits);

}  // namespace hexaplan::validator
