#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "costmodel/memory/memory_load.h"
#include "costmodel/memory/parameter_memory.h"
#include "costmodel/program/activation_memory.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/host_memory.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/step_parts.h"
#include "planner/problem/problem.h"
#include "planner/search/contest.h"
#include "planner/search/findings.h"
#include "planner/search/pipelines.h"
#include "planner/search/space.h"
#include "planner/search/work.h"

namespace hexaplan::planner {

/// The smallest value that any thread has seen.
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

/// Walks all candidates of one unit and prices them from memoised parts: the cost model computes each part
/// once per distinct input. estimate_step computes the same parts once per scenario.
class UnitSearch {
 public:
  /// `closest`: by how few bytes a candidate of any unit exceeded memory so far. It only saves work and never
  /// changes the result of all units together. May be null. `pipelines`: of the hardware option; its own
  /// where it is null.
  UnitSearch(const SearchProblem& problem, const Space& space, std::size_t hardware,
             LeastSeen* closest = nullptr, std::shared_ptr<Pipelines> pipelines = nullptr);

  /// Adds the candidates of `unit`, the `number`-th, to `findings`. Returns early when a stop is requested.
  /// Where a schedule has to be replayed, candidates that `incumbents`, of earlier units, beat by a bound are
  /// skipped.
  void run(const Unit& unit, std::uint32_t number, Findings& findings, const std::stop_token& stop,
           const Incumbents* incumbents = nullptr);

  /// Every layout is priced, however slow a bound says it is.
  void price_every_layout() { prices_every_layout_ = true; }
  /// What simulation is expected to take off a closed form at most, where layouts are left out for their
  /// bound; of replayed schedules kReplayedSpread.
  void expect_spread(double spread) { expected_spread_ = spread; }

  /// Called for every candidate that is priced; for tests.
  using Visitor = std::function<void(const Candidate&, costmodel::Seconds step, costmodel::Bytes peak)>;
  void set_visitor(Visitor visitor) { visitor_ = std::move(visitor); }

 private:
  static constexpr std::size_t kOperationKinds = 4;  // values of operations_of_sharding

  struct PipelineChoice {
    std::uint16_t option = 0;
    const Pipeline* shape = nullptr;
  };
  /// A choice of everything but rank order and recompute, within the current grid of degrees.
  struct LayoutChoice {
    const PipelineChoice* pipe = nullptr;
    std::uint16_t batch = 0;
    std::uint8_t sp = 0;
    const std::vector<double>* in_flight = nullptr;  // by stage group: the maximum of its members
    std::vector<std::uint16_t> shardings;
  };
  /// What times of passes depend on beside their PassKey: where activations are offloaded, how many of a
  /// chunk's layers keep them.
  struct Offloading {
    costmodel::RecomputeMode mode{};
    int recomputed = 0, chunks = 0;
    friend auto operator<=>(const Offloading&, const Offloading&) = default;  // NOLINT(modernize-use-nullptr)
  };
  /// Memory of forward and backward passes, and what they run once a candidate fits: wherever ranks lie.
  struct PassContent {
    std::optional<costmodel::ActivationMemory> memory;  // made when it is first asked for
    std::map<Offloading, costmodel::LayerWork> work;
  };
  /// … with the time that it takes where they do lie.
  struct PassPart {
    PassContent* content = nullptr;
    std::map<Offloading, costmodel::LayerTotals> totals;
  };
  /// What a PassPart depends on within a unit. A PassContent has no places.
  struct PassKey {
    std::uint16_t batch = 0, recompute = 0;
    std::uint8_t sp = 0;
    bool pipeline = false, forwards_first = false, pipeline_crosses_network = false;
    int sharding = 0;               // operations_of_sharding
    std::int64_t microbatches = 0;  // where the part counts them
    std::array<costmodel::GroupPlacement, 4> placements{};
    friend bool operator==(const PassKey&, const PassKey&) = default;
  };
  struct PassKeyHash {
    std::size_t operator()(const PassKey& key) const;
  };
  /// What a replayed order depends on within a grid of degrees.
  struct ReplayKey {
    std::uint16_t pipe = 0, batch = 0, recompute = 0;
    std::uint8_t sp = 0;
    int layers = 0, sharding = 0;  // recomputed ones; operations_of_sharding
    friend auto operator<=>(const ReplayKey&, const ReplayKey&) = default;  // NOLINT(modernize-use-nullptr)
  };
  /// What the time of a replayed order depends on within a grid of degrees: times of its micro-batches'
  /// passes, how many there are, what of its stages runs again, and what passes wait for: nothing, or what
  /// an order of ranks and a sharding make of it.
  using SpanKey =
      std::tuple<const costmodel::LayerTotals*, std::int64_t, std::uint16_t, costmodel::RecomputeMode, int,
                 std::optional<std::pair<std::uint16_t, std::uint16_t>>>;
  /// Memory of parameters and gradients by stage group, wherever ranks lie.
  struct StateMemory {
    std::vector<costmodel::MemoryLoad> loads, resident;  // resident: what no pass frees
    std::vector<costmodel::Bytes> offloaded;             // empty unless something is
  };
  /// … with what lies outside the framework's allocator, and their communication.
  struct StatePart {
    std::vector<costmodel::MemoryLoad> loads;
    std::vector<costmodel::StageTransfers> transfers;  // once they are asked for
    /// Lower bounds: without any activation, and of replayed passes, which can consume or free what the
    /// ledger has beside parameters and optimizer states.
    costmodel::Bytes least_peak, least_replayed;
    const std::vector<costmodel::Bytes>* offloaded = nullptr;
  };
  /// A sharding of the current LayoutChoice whose states alone fit.
  struct ShardingChoice {
    std::uint16_t index;
    int operations;  // operations_of_sharding
    const StatePart* states;
    costmodel::StepCombiner combiner;
    double variance = 0;  // that its techniques add, recompute aside; where plans are ranked by a quantile
  };

  void grid(std::uint16_t pp);
  void plan_pipelines();
  void combine(const PipelineChoice& pipe, std::uint16_t batch);
  /// Those that the rules accept. Each rejected one is counted as `below` candidates.
  [[nodiscard]] std::vector<std::uint16_t> accepted_shardings(std::int64_t below);
  void walk_order(std::uint16_t order);
  void price(const LayoutChoice& combination);
  void price_recomputation(const LayoutChoice& combination, std::uint16_t option);
  void set_least_loads(const LayoutChoice& combination);
  [[nodiscard]] bool outclasses_layout(const LayoutChoice& combination, const ShardingChoice& shard);
  [[nodiscard]] double variance_of_layout();
  void prune(const LayoutChoice& combination, const StatePart& states);
  void does_not_fit(std::int64_t candidates, costmodel::Bytes peak, bool exact = true);
  [[nodiscard]] static std::pair<int, int> layer_counts(const PipelineChoice& pipe,
                                                        const RecomputeOption& option);
  void set_recompute(const RecomputeOption& option, int layers);
  [[nodiscard]] costmodel::HostLoad host_of(const StatePart& states) const;
  void set_stages(const LayoutChoice& combination, const PassPart& part);
  void price_stages(const LayoutChoice& combination, PassPart& part, int operations);
  void time_stages();
  void set_loads(PassPart& part);
  [[nodiscard]] costmodel::Seconds least_span() const;
  void price_candidate(const ShardingChoice& shard);
  [[nodiscard]] costmodel::Seconds known_span(const ShardingChoice& shard);
  void set_waits(const ShardingChoice& shard);
  [[nodiscard]] costmodel::Seconds step_of(const ShardingChoice& shard, costmodel::Seconds span) const;
  [[nodiscard]] bool may_replay() const;
  [[nodiscard]] costmodel::Bytes peak_of(std::uint16_t sharding, const StatePart& states);
  [[nodiscard]] bool differing_chunks();
  /// A bound from below on peak_of, whatever is kept or recomputed.
  [[nodiscard]] costmodel::Bytes least_of_states(const StatePart& states) const;
  /// … and on what it replays of the present stages.
  [[nodiscard]] costmodel::Bytes least_replayed_peak(const StatePart& states) const;
  /// Null unless orders are replayed and their passes alone.
  [[nodiscard]] const WarmUps* warm_ups();
  [[nodiscard]] costmodel::LiveLoad live_when_warm(const WarmUp& stage) const;
  void recompute_first(const LayersByCount& first, costmodel::StagePlan& plan) const;
  [[nodiscard]] costmodel::Bytes replayed_peak(const costmodel::Scenario& scenario, const StatePart& states);
  void set_caution(const ShardingChoice& shard);
  [[nodiscard]] costmodel::Bytes ledger_peak(const StatePart& states) const;
  void consider(const ShardingChoice& shard, costmodel::Seconds step, costmodel::Bytes peak, bool priced);
  [[nodiscard]] costmodel::Seconds refined_bound(const ShardingChoice& shard, costmodel::Seconds step);
  [[nodiscard]] costmodel::Seconds uneven_bound(const ShardingChoice& shard, bool recomputes) const;
  [[nodiscard]] costmodel::Seconds step_without_recompute(const ShardingChoice& shard);
  [[nodiscard]] bool is_out_of_reach(const Scored& bound, double spread) const;
  [[nodiscard]] bool is_outclassed(const Scored& at_best) const;
  [[nodiscard]] bool is_hopeless(costmodel::Seconds least_step, costmodel::Bytes peak);
  [[nodiscard]] std::optional<Limit> broken_limit(costmodel::Seconds step, costmodel::Bytes peak) const;
  [[nodiscard]] double distance(Limit limit, costmodel::Seconds step, costmodel::Bytes peak) const;
  void record(costmodel::Seconds step, costmodel::Bytes peak);
  void reject(Limit limit, costmodel::Seconds step, costmodel::Bytes peak);

  /// First rule of the scope that the current choice breaks.
  [[nodiscard]] std::optional<std::size_t> broken(costmodel::RuleScope scope) const;
  [[nodiscard]] bool wanted_dp(int dp) const;
  void list_shardings();
  [[nodiscard]] std::int64_t recompute_choices(const PipelineChoice& pipe) const;
  [[nodiscard]] Scored scored(costmodel::Seconds step, costmodel::Bytes peak) const;
  [[nodiscard]] Family family() const;
  void set_pipeline(const PipelineChoice& pipe);
  [[nodiscard]] Pipelines::Key pipeline_key() const { return {candidate_.pp, candidate_.pipe}; }
  void set_sharding(std::uint16_t sharding);
  /// The part for the current choice and recompute `option`.
  [[nodiscard]] PassPart& pass_part(std::uint16_t option);
  /// … without the memory of its content. `option` may be nothing_recomputed().
  [[nodiscard]] PassPart& timed_part(std::uint16_t option);
  /// The number behind the last recompute option: nothing is recomputed, whatever the options are.
  [[nodiscard]] std::uint16_t nothing_recomputed() const {
    return static_cast<std::uint16_t>(space_.recomputes.size());
  }
  [[nodiscard]] costmodel::Recompute recompute_of(std::uint16_t option) const {
    return option < space_.recomputes.size() ? space_.recomputes[option].recompute : costmodel::Recompute{};
  }
  [[nodiscard]] const costmodel::LayerTotals& times_of(PassPart& part);
  [[nodiscard]] StatePart& state_part(const PipelineChoice& pipe, std::uint16_t sharding);
  [[nodiscard]] StatePart make_state_part(const StateMemory& memory) const;
  [[nodiscard]] StateMemory make_state_memory(const PipelineChoice& pipe, std::uint16_t sharding);
  void add_transfers(const PipelineChoice& pipe, StatePart& states);
  [[nodiscard]] const costmodel::ParameterMemory& parameter_memory(bool separates_ends,
                                                                   std::uint16_t sharding);

  const SearchProblem& problem_;
  const Space& space_;
  const HardwareOption& hardware_;
  costmodel::Scenario sc_;                        // the current candidate, as far as it is chosen
  std::vector<costmodel::StagePlan> all_layers_;  // the model on one stage
  std::array<bool, costmodel::kLayerClasses> used_{};
  Goal goal_;
  LeastSeen* closest_;
  std::shared_ptr<Pipelines> pipelines_of_hardware_;
  bool prices_every_layout_ = false;
  double expected_spread_ = kReplayedSpread;
  bool refines_ = false;             // plans are refined before they are ranked …
  bool counts_layers_ = false;       // whether some choice recomputes a number of layers
  bool chooses_recomputed_ = false;  // … and then choose how many layers to recompute
  Visitor visitor_;
  costmodel::Bytes most_memory_, safe_memory_;  // largest peaks that the memory share and the risk allow
  double memory_sigma_ = 0;
  std::vector<double> recompute_variance_;  // by option
  SlowestSteps slowest_;

  // The unit and the grid of degrees.
  Unit unit_;
  Candidate candidate_;
  Findings* findings_ = nullptr;
  const Incumbents* incumbents_ = nullptr;
  std::span<const PipeOption> pipe_options_;
  std::span<const costmodel::Sharding> sharding_options_;
  std::vector<std::uint16_t> shardings_;  // of the options, without repetitions
  std::vector<std::size_t> orders_;
  std::size_t sp_choices_ = 1;
  std::vector<PipelineChoice> pipelines_;
  std::size_t plans_ = 0;
  std::vector<LayoutChoice> combinations_;
  std::optional<costmodel::Pricer> pricer_;

  // Memoised parts: of the unit, the grid, the rank order.
  std::unordered_map<PassKey, std::unique_ptr<PassContent>, PassKeyHash> contents_;
  std::unordered_map<PassKey, std::unique_ptr<PassPart>, PassKeyHash> passes_;
  std::map<ReplayKey, std::vector<costmodel::LiveLoad>> replayed_;  // of the grid, by stage
  std::map<SpanKey, costmodel::Seconds> spans_;                     // of the grid
  std::map<std::pair<std::uint16_t, int>, bool> differing_;  // … and recomputed layers: chunks_differ
  std::array<std::optional<costmodel::ModelParameters>, 2> counts_;  // by separates_ends
  std::vector<std::unique_ptr<costmodel::ParameterMemory>> parameters_;
  std::vector<PassPart*> pass_of_;
  std::vector<std::unique_ptr<StateMemory>> state_memory_;
  std::vector<std::unique_ptr<StatePart>> states_;

  // The candidate being priced.
  std::vector<ShardingChoice> active_;
  bool refinable_ = false;  // whether the current pipeline is
  /// By active sharding: first what refinement would turn into one plan, then each recompute setting by
  /// itself.
  std::vector<std::optional<Prospect>> prospects_;
  std::vector<costmodel::StagePlan> plan_;
  std::vector<costmodel::StageLoad> loads_;
  std::optional<const WarmUps*> warm_up_;               // of the present layout, once it was needed
  std::vector<costmodel::LiveLoad> live_, least_live_;  // least_live_: when warm; empty without warm_ups
  std::vector<costmodel::Bytes> offloaded_;             // activations, by stage group; empty unless they are
  costmodel::HostLoad host_;                            // of a node
  costmodel::Seconds least_span_;                       // of the replayed schedule: a bound from below
  const LayoutChoice* combination_ = nullptr;
  const PassContent* content_ = nullptr;  // of the stages that are set
  PassPart* pass_ = nullptr;
  std::optional<int> least_loads_of_;  // operations_of_sharding; whether loads_ are the layout's least ones
  const costmodel::LayerTotals* times_ = nullptr;
  double caution_ = 1;          // of its step time
  bool chunks_differ_ = false;  // Pipeline::chunks_differ of the present one
  bool timed_ = false;          // whether loads_ are those of the present stages
  double microbatches_ = 1;
};

}  // namespace hexaplan::planner
