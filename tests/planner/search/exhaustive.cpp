#include "tests/planner/search/exhaustive.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/host_memory.h"
#include "planner/search/search.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

/// Nested loops over the filled lists, without any idea of what could be shared or skipped. A choice that
/// makes no difference (context kind without context parallelism …) is one candidate.
class Loops {
 public:
  Loops(const SearchProblem& problem, std::size_t hardware, Exhaustive& out)
      : problem_{problem}, s_{filled_space(problem, hardware)}, hardware_{hardware}, out_{out} {
    sc_ = problem.base;
    sc_.cluster = problem.hardware[hardware].cluster;
    const std::int64_t batch = problem.hardware[hardware].global_batch;
    if (batch > 0) sc_.recipe.global_batch = batch;
  }

  void run() {
    Layout& l = sc_.layout;
    for (const Precision precision : s_.precision)
      for (const std::uint8_t offload : s_.offload)
        for (const double fraction : fractions_of(offload))
          for (const int tp : s_.tp)
            for (const int cp : s_.cp)
              for (const ContextKind context :
                   cp > 1 ? s_.context : std::vector{problem_.base.layout.context})
                for (const int ep : s_.ep)
                  for (const int etp : s_.etp)
                    for (const int pp : s_.pp) {
                      sc_.recipe.precision = precision;
                      sc_.recipe.offload = offload;
                      sc_.recipe.offload_fraction = fraction;
                      l.tp = tp, l.cp = cp, l.context = context, l.ep = ep, l.etp = etp, l.pp = pp;
                      if (etp == 1 && tp == 1 && contains(s_.etp, 0)) continue;
                      grid();
                    }
  }

 private:
  template <class T>
  static bool contains(const std::vector<T>& list, T value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }

  /// Where no optimizer is offloaded a share of it makes no difference.
  std::vector<double> fractions_of(std::uint8_t offload) const {
    if ((offload & kOffloadOptimizer) != 0) return s_.offload_fraction;
    return {problem_.base.recipe.offload_fraction};
  }

  void grid() {
    Layout& l = sc_.layout;
    const std::int64_t rest = sc_.cluster.gpus / (std::int64_t{l.tp} * l.cp * l.pp);
    l.dp = static_cast<int>(std::max<std::int64_t>(1, rest));
    if (l.world_size() != sc_.cluster.gpus) {
      ++out_.rejected["fills-the-cluster"];
      ++out_.enumerated;
      return;
    }
    if (!s_.dp.empty() && !contains(s_.dp, l.dp)) return;
    std::set<std::vector<Axis>> orders;
    for (const auto& order : s_.order) {
      std::vector<Axis> cut;
      for (const Axis axis : order) {
        const int size = axis == Axis::Tensor    ? l.tp
                         : axis == Axis::Context ? l.cp
                         : axis == Axis::Data    ? l.dp
                                                 : l.pp;
        if (size > 1) cut.push_back(axis);
      }
      if (!orders.insert(cut).second) continue;
      l.order = order;
      pipes();
    }
  }

  void pipes() {
    Layout& l = sc_.layout;
    for (const ScheduleKind schedule : s_.schedule) {
      for (const int vpp : s_.vpp) {
        if ((vpp > 1) != (schedule == ScheduleKind::Interleaved)) continue;
        if (l.pp == 1) continue;
        for (const StageSplit split : s_.split) {
          if (vpp == 1 && split != s_.split.front()) continue;
          l.schedule = schedule, l.vpp = vpp, l.split = split;
          batches();
        }
      }
    }
    if (l.pp > 1) return;
    for (const int vpp : contains(s_.vpp, 1) ? std::vector<int>{1} : s_.vpp) {
      l.schedule = vpp > 1 ? ScheduleKind::Interleaved : ScheduleKind::OneFOneB;
      l.vpp = vpp;
      l.split = StageSplit::Even;
      batches();
    }
  }

  void batches() {
    for (const std::int64_t batch : s_.micro_batch) {
      sc_.recipe.micro_batch = batch;
      for (const bool sp : sc_.layout.tp > 1 ? s_.sp : std::vector<bool>{false}) {
        sc_.layout.sp = sp;
        shardings();
      }
    }
  }

  void shardings() {
    Layout& l = sc_.layout;
    const int ranks = l.dp * l.cp;
    std::vector<int> stages = s_.zero;
    if (ranks == 1) stages = {*std::min_element(stages.begin(), stages.end())};
    for (const int stage : stages) {
      std::vector<int> groups{0};
      if (ranks > 1 && stage > 0) groups = groups_of(stage);
      for (const int group : groups) {
        if (group == ranks && contains(groups, 0)) continue;
        l.sharding.stage = stage, l.sharding.group = group;
        recomputations();
      }
    }
  }

  std::vector<int> groups_of(int stage) const {
    if (!s_.shard_group.empty()) return s_.shard_group;
    std::vector<int> groups{0};
    for (std::int64_t g = sc_.cluster.gpus_per_node; stage == 3 && g < sc_.cluster.gpus; g *= 2)
      groups.push_back(static_cast<int>(g));
    return stage == 3 ? with_units(std::move(groups)) : groups;
  }
  /// Beside whole nodes: what fills a unit of the network, at one of the degrees of tensor parallelism.
  std::vector<int> with_units(std::vector<int> groups) const {
    const std::size_t doubled = groups.size();
    for (const int tp : s_.tp) {
      for (const NetworkLevel& unit : sc_.cluster.levels) {
        const auto group = static_cast<int>(unit.ranks / tp);
        const bool fills =
            has_tiers(sc_.cluster) && unit.fabric == Fabric::Network && group * tp == unit.ranks;
        if (fills && group >= sc_.cluster.gpus_per_node && group < sc_.cluster.gpus) groups.push_back(group);
      }
    }
    std::sort(groups.begin() + static_cast<std::ptrdiff_t>(doubled), groups.end());
    std::vector<int> once;
    for (const int group : groups)
      if (std::find(once.begin(), once.end(), group) == once.end()) once.push_back(group);
    return once;
  }

  void recomputations() {
    for (const Recompute& recompute : s_.recompute) {
      sc_.recipe.recompute = recompute;
      if (recompute.mode != RecomputeMode::Layers || recompute.layers > 0) {
        leaf();
        continue;
      }
      // Counts of layers are candidates of their own where the stages are known.
      if (const auto rejected = first_broken(); rejected && !stages_are_known(*rejected)) {
        leaf();
        continue;
      }
      sc_.recipe.recompute = {};
      int most = 0;
      for (const StagePlan& chunk : plan_chunks(sc_)) most = std::max(most, chunk.total_layers());
      for (int layers = 1; layers < most; ++layers) {
        sc_.recipe.recompute = recompute;
        sc_.recipe.recompute.layers = layers;
        leaf();
      }
    }
  }

  /// The first rule that the layout breaks; unequal stages come after what the stages themselves break.
  std::optional<std::string> first_broken() const {
    const auto rejected = first_rejection(sc_);
    if (rejected && !stages_are_known(rejected->rule)) return rejected->rule;
    const std::int64_t ends = sc_.layout.split == StageSplit::Even ? 0 : 2;
    const std::int64_t chunks = std::int64_t{sc_.layout.pp} * chunks_per_stage(sc_.layout);
    if (chunks_per_stage(sc_.layout) > 1 && sc_.layout.pp > 1 && !*s_.unequal_stages &&
        (sc_.model.layers + ends) % chunks != 0)
      return "layers-split-evenly";
    return rejected ? std::optional{rejected->rule} : std::nullopt;
  }

  static bool stages_are_known(const std::string& rule) {
    return std::ranges::any_of(
        layout_rules(), [&](const Rule& row) { return row.name == rule && row.scope > RuleScope::Stages; });
  }

  void leaf() {
    ++out_.enumerated;
    if (const auto rejected = first_broken()) {
      ++out_.rejected[*rejected];
      return;
    }
    const Estimate estimate = estimate_step(sc_, problem_.hardware[hardware_].calibration);
    const Bytes peak = estimate.peak().needed;
    const double risk = estimate.out_of_memory_probability;
    const bool host = fits_on_host({estimate.host_memory, estimate.disk}, sc_.cluster.host);
    if (sc_.cluster.gpu.memory * problem_.constraints.memory_share < peak) {
      ++out_.too_large;
    } else if (!host) {
      ++out_.too_much_for_the_host;
    } else if (problem_.constraints.max_risk < risk) {
      ++out_.too_risky;
    }
    out_.priced.push_back({{hardware_, sc_}, estimate.time.total(), peak, host, risk});
  }

  const SearchProblem& problem_;
  SearchSpace s_;
  std::size_t hardware_;
  Exhaustive& out_;
  Scenario sc_;
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_{seed} {}
  int roll(int sides) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(sides)); }
  /// Some of `values`, at least one.
  template <class T>
  std::vector<T> some(std::vector<T> values, std::size_t most) {
    std::shuffle(values.begin(), values.end(), engine_);
    values.resize(1 + engine_() % std::min(most, values.size()));
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

/// Pods of two nodes under an oversubscribed spine.
void add_pods(ClusterSpec& cluster, std::uint64_t seed) {
  costmodel::NetworkLevel& pods = cluster.levels.back();
  costmodel::NetworkLevel spine = pods;
  pods.ranks = std::min<std::int64_t>(16, pods.ranks);
  pods.rail_optimised = seed % 2 == 0;
  spine.bandwidth = spine.bandwidth / (1.0 + static_cast<double>(seed % 7));
  spine.latency = Seconds{20e-6};
  cluster.levels.push_back(spine);
}

}  // namespace

Exhaustive enumerate_all(const SearchProblem& problem) {
  Exhaustive out;
  for (std::size_t hardware = 0; hardware < problem.hardware.size(); ++hardware)
    Loops{problem, hardware, out}.run();
  return out;
}

SearchProblem random_problem(std::uint64_t seed) {
  Dice dice{seed};
  const rc::Random random{seed};
  SearchProblem p;
  p.base = support::any_scenario()(random, 100).value();
  const Calibration calibration = support::any_calibration()(random, 100).value();
  const std::vector<std::int64_t> sizes{1, 2, 4, 6, 8, 16, 24, 32};
  for (int offer = dice.roll(2); offer >= 0; --offer) {
    ClusterSpec cluster = p.base.cluster;
    cluster.gpus = dice.some(sizes, 1).front();
    cluster.gpus_per_node = 8;
    cluster.levels.resize(1);
    cluster.levels[0].ranks = 8;
    cluster.levels.push_back({.name = "between",
                              .fabric = Fabric::Network,
                              .ranks = std::max<std::int64_t>(8, cluster.gpus),
                              .bandwidth = BytesPerSecond{25e9},
                              .latency = Seconds{5e-6}});
    if (seed % 3 == 0) add_pods(cluster, seed);
    cluster.gpu.price_per_hour = dice.roll(3);
    // From far too little to plenty.
    cluster.gpu.memory = Bytes{4e9 * static_cast<double>(1 << dice.roll(7))};
    p.hardware.push_back({cluster, calibration});
  }
  p.base.recipe.global_batch = dice.some<std::int64_t>({8, 24, 48, 64}, 1).front();
  p.base.layout.split = dice.some<StageSplit>({StageSplit::Even, StageSplit::EndsMinusOne}, 1).front();
  SearchSpace& s = p.space;
  s.tp = dice.some<int>({1, 2, 4, 8, 3}, 4);
  s.cp = dice.some<int>({1, 2, 4}, 2);
  s.pp = dice.some<int>({1, 2, 4, 6, 8}, 3);
  s.vpp = dice.some<int>({1, 2, 3}, 2);
  s.ep = p.base.model.is_moe() ? dice.some<int>({1, 2, 4, 8}, 2) : dice.some<int>({1, 1, 1, 2}, 1);
  s.etp = dice.some<int>({0, 1, 2}, 2);
  s.sp = dice.some<bool>({false, true}, 2);
  s.zero = dice.some<int>({0, 1, 2, 3}, 3);
  if (dice.roll(2) == 0) s.shard_group = dice.some<int>({0, 2, 4, 8}, 2);
  s.micro_batch = dice.some<std::int64_t>({1, 2, 3, 4}, 2);
  s.recompute = dice.some<Recompute>({{.mode = RecomputeMode::None},
                                      {.mode = RecomputeMode::Selective},
                                      {.mode = RecomputeMode::SelectiveModules, .modules = 0b1010},
                                      {.mode = RecomputeMode::SelectiveOperators},
                                      {.mode = RecomputeMode::Layers},
                                      {.mode = RecomputeMode::Layers, .layers = 2},
                                      {.mode = RecomputeMode::Full}},
                                     3);
  s.schedule = dice.some<ScheduleKind>(
      {ScheduleKind::OneFOneB, ScheduleKind::Interleaved, ScheduleKind::GPipe, ScheduleKind::ZbH1,
       ScheduleKind::Zb2p, ScheduleKind::Zbv, ScheduleKind::DualPipeV},
      2);
  s.context = dice.some<ContextKind>({ContextKind::Ring, ContextKind::AllGather, ContextKind::AllToAll}, 2);
  if (dice.roll(2) == 0) {
    s.order = dice.some<std::array<Axis, 4>>({{Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline},
                                              {Axis::Tensor, Axis::Context, Axis::Pipeline, Axis::Data},
                                              {Axis::Pipeline, Axis::Data, Axis::Context, Axis::Tensor}},
                                             2);
  }
  p.base.framework.replays_parameters = p.base.framework.keeps_what_backward_reads = dice.roll(4) == 0;
  s.unequal_stages = dice.roll(2) == 0;
  if (dice.roll(2) == 0) s.split = {StageSplit::Even, StageSplit::EndsMinusOne};
  p.objective = static_cast<Objective>(dice.roll(5));
  p.constraints.memory_share = dice.roll(2) == 0 ? 1.0 : 0.8;
  p.constraints.max_risk = dice.some<double>({0.01, 0.05, 0.3, 1.0}, 1).front();
  p.rank_by = static_cast<RankBy>(dice.roll(2));
  if (dice.roll(2) == 0) s.offload = dice.some<std::uint8_t>({0, kOffloadActivations, kOffloadOptimizer}, 2);
  for (HardwareOption& option : p.hardware) {
    if (dice.roll(3) == 0) option.global_batch = dice.some<std::int64_t>({8, 24, 48, 64}, 1).front();
  }
  p.top = 30;
  p.refine_winners = false;
  p.simulate_winners = false;
  p.base.framework.abilities.recompute_per_stage = dice.roll(2) == 0;
  if (dice.roll(2) == 0) s.offload_fraction = dice.some<double>({0.25, 0.5, 1}, 2);
  return p;
}

}  // namespace hexaplan::planner
