#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "costmodel/spec/layout.h"
#include "costmodel/spec/recipe.h"
#include "planner/problem/problem.h"

namespace hexaplan::planner {

/// One way to run a pipeline.
struct PipeOption {
  costmodel::ScheduleKind schedule = costmodel::ScheduleKind::OneFOneB;
  int vpp = 1;
  costmodel::StageSplit split = costmodel::StageSplit::Even;
};

struct RecomputeOption {
  costmodel::Recompute recompute;
  bool every_count = false;  // mode Layers: each count below a stage's layers is a candidate
};

/// How a search walks the space on one hardware option: every list filled, and dimensions that go together
/// joined.
struct Space {
  SearchSpace lists;                                // filled
  std::vector<PipeOption> pipes, without_pipeline;  // for pp > 1, and for pp = 1
  std::vector<RecomputeOption> recomputes;
  std::vector<costmodel::Sharding> shardings, unsharded;  // for dp·cp > 1, and for dp·cp = 1
};
[[nodiscard]] Space make_space(const SearchProblem& problem, std::size_t hardware);

/// The outermost choice: what a task of the search works on alone.
struct Unit {
  std::size_t hardware = 0;
  costmodel::Precision precision = costmodel::Precision::Bf16;
  int tp = 1, cp = 1, ep = 1, etp = 0;
  costmodel::ContextKind context = costmodel::ContextKind::Ring;
};
[[nodiscard]] std::vector<Unit> units_of(const SearchProblem& problem, const Space& space,
                                         std::size_t hardware);

/// Orders of `orders` (by index) that differ once axes of size 1 are left out.
[[nodiscard]] std::vector<std::size_t> distinct_orders(
    const std::vector<std::array<costmodel::Axis, 4>>& orders, const costmodel::Layout& layout);

/// One leaf of the space: indices into the lists of a Space. Candidates of equal price rank in this order.
struct Candidate {
  std::uint32_t unit = 0;
  std::uint16_t pp = 0, order = 0, pipe = 0, batch = 0, recompute = 0, layers = 0, sharding = 0;
  std::uint8_t sp = 0;
  // clang-tidy 14 takes the literal zero inside a defaulted comparison for a null pointer.
  friend auto operator<=>(const Candidate&, const Candidate&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Sets the layout and recipe of `unit` and `candidate`; dp is what the GPUs leave.
void apply(const Unit& unit, const Space& space, const Candidate& candidate, costmodel::Scenario& scenario);
void apply(const Unit& unit, costmodel::Scenario& scenario);
/// The same of degrees, rank order and sharding alone.
void apply_grid(const Unit& unit, const Space& space, const Candidate& candidate,
                costmodel::Scenario& scenario);

}  // namespace hexaplan::planner
