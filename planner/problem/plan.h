#pragma once
#include <cstddef>
#include <cstdint>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/units/quantity.h"
#include "planner/problem/problem.h"

namespace hexaplan::planner {

/// What a candidate is ranked and limited by.
struct Price {
  costmodel::Seconds step;
  costmodel::Bytes peak;      // device memory of the fullest stage
  costmodel::Bytes capacity;  // of the device
  std::int64_t gpus = 0;
  double dollars_per_step = 0;  // 0 where the GPU has no price
  double tokens_per_second_per_gpu = 0;
  double mfu = 0;
  double risk = 0;  // chance of running out of memory, as Estimate::out_of_memory_probability
  [[nodiscard]] costmodel::Bytes headroom() const { return capacity - peak; }
  friend bool operator==(const Price&, const Price&) = default;
};

/// A candidate: one way to train, on one of the problem's hardware options.
struct Plan {
  std::size_t hardware = 0;  // index into SearchProblem::hardware
  costmodel::Layout layout;
  costmodel::Recipe recipe;
  Price price;
};

/// The scenario of `plan`: the problem's base with the plan's cluster, layout and recipe. Its estimate_step
/// gives the plan's price.
[[nodiscard]] costmodel::Scenario scenario_of(const SearchProblem& problem, std::size_t hardware,
                                              const costmodel::Layout& layout,
                                              const costmodel::Recipe& recipe);
[[nodiscard]] costmodel::Scenario scenario_of(const SearchProblem& problem, const Plan& plan);

/// The problem's base on hardware option `hardware`.
[[nodiscard]] costmodel::Scenario base_on(const SearchProblem& problem, std::size_t hardware);

/// The price of a scenario whose step time and peak device memory are known.
[[nodiscard]] Price price_of(const costmodel::Scenario& scenario, const costmodel::Calibration& calibration,
                             costmodel::Seconds step, costmodel::Bytes peak);

/// The largest peak that the limits allow on hardware option `hardware`: by the share of the device's memory
/// and by the risk.
[[nodiscard]] costmodel::Bytes most_memory(const SearchProblem& problem, std::size_t hardware);

}  // namespace hexaplan::planner
