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

/// The space on one hardware option as the search walks it: every list filled, dependent dimensions joined.
struct Space {
  SearchSpace lists;                                // filled
  std::vector<PipeOption> pipes, without_pipeline;  // for pp > 1, and for pp = 1
  std::vector<RecomputeOption> recomputes;
  std::vector<costmodel::Sharding> shardings, unsharded;  // for dp·cp > 1, and for dp·cp = 1
  /// … where parameters are offloaded: with ZeRO-3, if it is tried, which that needs.
  std::vector<costmodel::Sharding> unsharded_offloaded;
  [[nodiscard]] const std::vector<costmodel::Sharding>& shardings_for(int ranks, std::uint8_t offload) const;
};
/// Whether some choice recomputes a number of layers.
[[nodiscard]] bool counts_layers(const Space& space);
[[nodiscard]] Space make_space(const SearchProblem& problem, std::size_t hardware);

/// The outermost choice: one task of the search.
struct Unit {
  std::size_t hardware = 0;
  costmodel::Precision precision = costmodel::Precision::Bf16;
  int tp = 1, cp = 1, ep = 1, etp = 0;
  costmodel::ContextKind context = costmodel::ContextKind::Ring;
  std::uint8_t offload = 0;     // OffloadTarget bits
  double offload_fraction = 1;  // of the optimizer's states
};
[[nodiscard]] std::vector<Unit> units_of(const SearchProblem& problem, const Space& space,
                                         std::size_t hardware);

/// Indices of the rank orders in `orders` that differ after axes of size 1 are dropped.
[[nodiscard]] std::vector<std::size_t> distinct_orders(
    const std::vector<std::array<costmodel::Axis, 4>>& orders, const costmodel::Layout& layout);

/// One leaf of the space: indices into the lists of a Space. Candidates of equal price are ranked in this
/// order.
struct Candidate {
  std::uint32_t unit = 0;
  std::uint16_t pp = 0, order = 0, pipe = 0, batch = 0, recompute = 0, layers = 0, sharding = 0;
  std::uint8_t sp = 0;
  // clang-tidy 14 takes the literal zero inside a defaulted comparison for a null pointer.
  friend auto operator<=>(const Candidate&, const Candidate&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Sets layout and recipe to those of `unit` and `candidate`; dp follows from the number of GPUs.
void apply(const Unit& unit, const Space& space, const Candidate& candidate, costmodel::Scenario& scenario);
void apply(const Unit& unit, costmodel::Scenario& scenario);
/// The same for degrees, rank order and sharding only.
void apply_grid(const Unit& unit, const Space& space, const Candidate& candidate,
                costmodel::Scenario& scenario);

}  // namespace hexaplan::planner
