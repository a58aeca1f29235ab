#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

#include "costmodel/memory/activation_memory.h"
#include "costmodel/memory/memory_load.h"
#include "costmodel/memory/parameter_memory.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/step_parts.h"
#include "planner/problem/problem.h"
#include "planner/search/findings.h"
#include "planner/search/space.h"
#include "planner/search/work.h"

namespace hexaplan::planner {

/// The least value that any thread has seen.
class LeastSeen {
 public:
  [[nodiscard]] double value() const { return least_.load(std::memory_order_relaxed); }
  void lower(double value) {
    for (double seen = this->value();
         value < seen && !least_.compare_exchange_weak(seen, value, std::memory_order_relaxed);) {
    }
  }

 private:
  std::atomic<double> least_{std::numeric_limits<double>::infinity()};
};

/// Walks all candidates of one unit and prices them from parts: each part is made by the cost model once per
/// value of what it depends on, and estimate_step makes the same parts once per scenario.
class UnitSearch {
 public:
  /// `closest`: how little memory too much any unit has seen so far; it decides what is worth a look, never
  /// what comes out of all units together. May be null.
  UnitSearch(const SearchProblem& problem, const Space& space, std::size_t hardware,
             LeastSeen* closest = nullptr);

  /// Adds what unit number `number` holds to `findings`. Stops early when asked to.
  void run(const Unit& unit, std::uint32_t number, Findings& findings, const std::stop_token& stop);

  /// Called for every candidate that is priced; for tests.
  using Visitor = std::function<void(const Candidate&, costmodel::Seconds step, costmodel::Bytes peak)>;
  void set_visitor(Visitor visitor) { visitor_ = std::move(visitor); }

 private:
  static constexpr std::size_t kOperationKinds = 3;  // values of operations_of_sharding

  /// Stages alike, which differ in memory only by their micro-batches in flight.
  struct StageGroup {
    costmodel::StagePlan plan;
    std::vector<int> members;
    friend bool operator==(const StageGroup&, const StageGroup&) = default;
  };
  struct Pipe {
    std::uint16_t option = 0;
    std::vector<StageGroup> groups;
    std::size_t plan = 0;  // pipes with equal groups and ends share this number
    int most_layers = 0;   // of a stage
    bool separates_ends = false;
  };
  /// A choice of everything but rank order and recomputation, within the present grid.
  struct Combination {
    const Pipe* pipe = nullptr;
    std::uint16_t batch = 0;
    std::uint8_t sp = 0;
    std::vector<double> in_flight;  // by stage group: the most of its members
    std::vector<std::uint16_t> shardings;
  };
  /// Time and memory of what micro-batches run.
  struct PassPart {
    costmodel::LayerTotals totals;
    costmodel::ActivationMemory memory;
  };
  /// What a PassPart depends on within a unit.
  struct PassKey {
    std::uint16_t batch = 0, recompute = 0;
    std::uint8_t sp = 0;
    bool pipeline = false, forwards_first = false, pipeline_crosses_network = false;
    int sharding = 0;               // operations_of_sharding
    std::int64_t microbatches = 0;  // where the part counts them
    std::array<costmodel::GroupPlacement, 4> placements;
    friend bool operator==(const PassKey&, const PassKey&) = default;
  };
  struct PassKeyHash {
    std::size_t operator()(const PassKey& key) const;
  };
  /// Time and memory of what parameters and gradients cost each stage group.
  struct StatePart {
    std::vector<costmodel::MemoryLoad> loads;
    std::vector<costmodel::StageTransfers> transfers;
    costmodel::Bytes least_peak;  // without any activation: a bound from below
  };
  /// A sharding of the present combination that its states alone do not rule out.
  struct Shard {
    std::uint16_t index;
    int operations;  // operations_of_sharding
    const StatePart* states;
    costmodel::StepCombiner combiner;
  };

  void grid(std::uint16_t pp);
  void plan_pipes();
  static void group_stages(const std::vector<costmodel::StagePlan>& stages, Pipe& pipe);
  /// By stage group, for the present micro-batch.
  [[nodiscard]] std::vector<double> most_in_flight(const Pipe& pipe) const;
  void combine(const Pipe& pipe, std::uint16_t batch);
  /// Those that the rules accept; the others are counted with the `below` candidates that each stands for.
  [[nodiscard]] std::vector<std::uint16_t> accepted_shardings(std::int64_t below);
  void walk_order(std::uint16_t order);
  void price(const Combination& combination);
  void price_recomputation(const Combination& combination, std::uint16_t option);
  void prune(const Combination& combination, const StatePart& states);
  void does_not_fit(std::int64_t candidates, costmodel::Bytes peak);
  [[nodiscard]] static std::pair<int, int> layer_counts(const Pipe& pipe, const RecomputeOption& option);
  void set_recompute(const RecomputeOption& option, int layers);
  void set_stages(const Combination& combination, const PassPart& part);
  void price_stages(const Combination& combination, const PassPart& part, int operations);
  void price_candidate(const Shard& shard);
  [[nodiscard]] costmodel::Seconds step_of(const Shard& shard, costmodel::Seconds span) const;
  [[nodiscard]] costmodel::Bytes peak_of(std::uint16_t sharding, const StatePart& states) const;
  void consider(const Shard& shard, costmodel::Seconds step, costmodel::Bytes peak, bool priced);
  [[nodiscard]] costmodel::Seconds refined_bound(const Shard& shard, costmodel::Seconds step);
  [[nodiscard]] costmodel::Seconds uneven_bound(const Shard& shard, bool reruns) const;
  [[nodiscard]] costmodel::Seconds step_without_rerun(const Shard& shard);
  [[nodiscard]] bool is_hopeless(costmodel::Seconds least_step, costmodel::Bytes peak);
  [[nodiscard]] std::optional<Limit> broken_limit(costmodel::Seconds step, costmodel::Bytes peak) const;
  [[nodiscard]] double distance(Limit limit, costmodel::Seconds step, costmodel::Bytes peak) const;
  void record(costmodel::Seconds step, costmodel::Bytes peak);
  void reject(Limit limit, costmodel::Seconds step, costmodel::Bytes peak);

  /// First rule of the scope that the present choice breaks.
  [[nodiscard]] std::optional<std::size_t> broken(costmodel::RuleScope scope) const;
  [[nodiscard]] bool wanted_dp(int dp) const;
  void list_shardings();
  [[nodiscard]] std::int64_t recompute_choices(const Pipe& pipe) const;
  [[nodiscard]] Scored scored(costmodel::Seconds step, costmodel::Bytes peak) const;
  [[nodiscard]] Family family() const;
  void set_pipe(const Pipe& pipe);
  void set_sharding(std::uint16_t sharding);
  /// The part of the present choice; recomputation `option`.
  [[nodiscard]] const PassPart& pass_part(std::uint16_t option);
  [[nodiscard]] const StatePart& state_part(const Pipe& pipe, std::uint16_t sharding);
  [[nodiscard]] StatePart make_state_part(const Pipe& pipe, std::uint16_t sharding);
  [[nodiscard]] const costmodel::ParameterMemory& parameter_memory(bool separates_ends,
                                                                   std::uint16_t sharding);

  const SearchProblem& problem_;
  const Space& space_;
  const HardwareOption& hardware_;
  costmodel::Scenario sc_;                        // the present candidate, as far as it is chosen
  std::vector<costmodel::StagePlan> all_layers_;  // the model on one stage
  std::array<bool, costmodel::kLayerClasses> used_{};
  Goal goal_;
  LeastSeen* closest_;
  bool refines_ = false;             // plans are refined before they are ranked …
  bool chooses_recomputed_ = false;  // … and then choose how many layers to recompute
  Visitor visitor_;
  costmodel::Bytes most_memory_, safe_memory_;  // that the share and that the risk allow
  double memory_sigma_ = 0;
  SlowestSteps slowest_;

  // The unit and the grid of degrees.
  Unit unit_;
  Candidate candidate_;
  Findings* findings_ = nullptr;
  std::span<const PipeOption> pipe_options_;
  std::span<const costmodel::Sharding> sharding_options_;
  std::vector<std::uint16_t> shardings_;  // of the options, without repetitions
  std::vector<std::size_t> orders_;
  std::size_t sp_choices_ = 1;
  std::vector<Pipe> pipes_;
  std::size_t plans_ = 0;
  std::vector<Combination> combinations_;
  std::optional<costmodel::Pricer> pricer_;

  // Parts made so far: of the unit, the grid, the rank order.
  std::unordered_map<PassKey, std::unique_ptr<PassPart>, PassKeyHash> passes_;
  std::array<std::optional<costmodel::ModelParameters>, 2> counts_;  // by separates_ends
  std::vector<std::unique_ptr<costmodel::ParameterMemory>> parameters_;
  std::vector<const PassPart*> pass_of_;
  std::vector<std::unique_ptr<StatePart>> states_;

  // What is being priced.
  std::vector<Shard> active_;
  bool refinable_ = false;  // the present pipeline
  /// By active sharding: what a refinement makes one plan of, then each recomputation by itself.
  std::vector<std::optional<Prospect>> prospects_;
  std::vector<costmodel::StagePlan> plan_;
  std::vector<double> rerun_;
  std::vector<costmodel::StageLoad> loads_;
  std::vector<costmodel::LiveLoad> live_;
  std::optional<costmodel::Seconds> span_;  // of the replayed order, once it was needed
  const PassPart* pass_ = nullptr;
  double microbatches_ = 1;
};

}  // namespace hexaplan::planner
