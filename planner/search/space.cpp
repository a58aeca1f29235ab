#include "planner/search/space.h"

#include <algorithm>
#include <span>

#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/recompute_modules.h"
#include "planner/problem/plan.h"
#include "planner/search/search.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

// What an empty list stands for where nothing else bounds it (docs/search.md).
constexpr std::int64_t kFewestLocalTokens = 1024;  // of a sequence per context-parallel rank
constexpr std::int64_t kLargestMicroBatch = 32;
constexpr int kMostChunks = 12;                             // of a stage
constexpr std::array kUnequalChunks{1, 2, 3, 4, 6, 8, 12};  // where chunks may differ in layers

std::vector<int> divisors(std::int64_t n, std::int64_t most) {
  std::vector<int> out;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) out.push_back(static_cast<int>(d));
  }
  return out;
}

template <class T>
void fill(std::vector<T>& list, const std::vector<T>& values) {
  if (list.empty()) list = values;
}

/// Chunks per stage that deal out the layers, or with the ends the parts of StageSplit::EmbeddingCounts, in
/// equal chunks for some pipeline degree.
std::vector<int> chunk_counts(const SearchProblem& problem, const SearchSpace& s) {
  std::vector<int> out;
  if (s.unequal_stages.value_or(problem.base.framework.abilities.unequal_stages))
    out.assign(kUnequalChunks.begin(), kUnequalChunks.end());
  const std::int64_t layers = problem.base.model.layers;
  for (int chunks = 1; chunks <= kMostChunks; ++chunks) {
    const bool equal = std::any_of(s.pp.begin(), s.pp.end(), [&](int stages) {
      const std::int64_t all = std::int64_t{stages} * chunks;
      return stages > 1 && (layers % all == 0 || (layers + 2) % all == 0);
    });
    if ((chunks == 1 || equal) && std::find(out.begin(), out.end(), chunks) == out.end())
      out.push_back(chunks);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Every recomputation that the framework has and the model has something for.
std::vector<Recompute> recomputations(const SearchProblem& problem) {
  const FrameworkAbilities& can = problem.base.framework.abilities;
  std::vector<Recompute> out;
  for (const RecomputeMode mode :
       {RecomputeMode::None, RecomputeMode::Selective, RecomputeMode::SelectiveOperators,
        RecomputeMode::Layers, RecomputeMode::Full}) {
    if (has_bit(can.recompute, mode)) out.push_back({.mode = mode});
  }
  const std::uint16_t has = recompute_modules_of(problem.base.model);
  for (const std::uint16_t modules : can.recompute_modules) {
    if ((modules & ~has) == 0) out.push_back({.mode = RecomputeMode::SelectiveModules, .modules = modules});
  }
  return out;
}

/// The framework's values of a dimension, of those that the bit set allows.
template <class T>
std::vector<T> chosen(unsigned bits, int count) {
  std::vector<T> out;
  for (int i = 0; i < count; ++i) {
    if (has_bit(bits, i)) out.push_back(static_cast<T>(i));
  }
  return out;
}

void fill_degrees(const SearchProblem& problem, std::int64_t gpus, std::int64_t batch, SearchSpace& s) {
  const ModelSpec& model = problem.base.model;
  const FrameworkAbilities& can = problem.base.framework.abilities;
  const std::vector<int> one{1};
  const std::int64_t heads = std::max(model.attention.heads, model.recurrent.heads);
  fill(s.tp, can.tensor ? divisors(gpus, heads) : one);
  fill(s.cp, can.contexts != 0 ? divisors(gpus, problem.base.recipe.sequence / kFewestLocalTokens) : one);
  if (s.cp.empty()) s.cp = one;
  fill(s.pp, can.schedules != 0 ? divisors(gpus, model.layers) : one);
  fill(s.vpp, chunk_counts(problem, s));
  fill(s.ep, can.experts && model.is_moe() ? divisors(model.moe.experts, gpus) : one);
  fill(s.etp, model.is_moe() && can.experts ? std::vector<int>{0, 1} : std::vector<int>{0});
  std::vector<std::int64_t> batches;
  for (const int d : divisors(batch, kLargestMicroBatch)) batches.push_back(d);
  fill(s.micro_batch, batches);
}

void fill_choices(const SearchProblem& problem, SearchSpace& s) {
  const FrameworkAbilities& can = problem.base.framework.abilities;
  fill(s.sp, can.sequence ? std::vector<bool>{false, true} : std::vector<bool>{false});
  fill(s.zero, chosen<int>(can.zero_stages, 4));
  fill(s.recompute, recomputations(problem));
  fill(s.schedule, chosen<ScheduleKind>(can.schedules, kScheduleKinds));
  if (s.schedule.empty()) s.schedule = {ScheduleKind::OneFOneB};
  const StageSplit split = problem.base.layout.split;
  if (split == StageSplit::Even) {
    fill(s.split, {StageSplit::Even, StageSplit::EmbeddingCounts});
  } else {
    fill(s.split, {split});
  }
  if (!s.unequal_stages) s.unequal_stages = can.unequal_stages;
  fill(s.context, chosen<ContextKind>(can.contexts, kContextKinds));
  if (s.context.empty()) s.context = {problem.base.layout.context};
  fill(s.order, {{Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline},
                 {Axis::Tensor, Axis::Context, Axis::Pipeline, Axis::Data}});
  fill(s.precision, {problem.base.recipe.precision});
  fill(s.offload, {problem.base.recipe.offload});
  fill(s.offload_fraction, {problem.base.recipe.offload_fraction});
}

/// Shard groups of a ZeRO stage: whole (0) and, where parameters are sharded, the hybrids of whole nodes and
/// those that fill a unit of the network.
std::vector<int> shard_groups(const SearchSpace& s, int zero, const ClusterSpec& cluster) {
  if (!s.shard_group.empty()) return s.shard_group;
  std::vector<int> groups{0};
  if (zero < 3) return groups;
  const auto add = [&](std::int64_t group) {
    const bool known = std::find(groups.begin(), groups.end(), group) != groups.end();
    if (!known && cluster.gpus_per_node <= group && group < cluster.gpus)
      groups.push_back(static_cast<int>(group));
  };
  for (std::int64_t g = cluster.gpus_per_node; g < cluster.gpus; g *= 2) add(g);
  for (const NetworkLevel& level : cluster.levels) {
    if (!has_tiers(cluster) || level.fabric != Fabric::Network) continue;
    for (const int tp : s.tp) {
      if (level.ranks % tp == 0) add(level.ranks / tp);
    }
  }
  return groups;
}

std::vector<Sharding> shardings_of(const SearchProblem& problem, const SearchSpace& s,
                                   const ClusterSpec& cluster) {
  std::vector<Sharding> out;
  for (const int zero : s.zero) {
    Sharding sharding = problem.base.layout.sharding;
    sharding.stage = zero;
    sharding.group = 0;
    if (zero == 0) {
      out.push_back(sharding);
      continue;
    }
    for (const int group : shard_groups(s, zero, cluster)) {
      sharding.group = group;
      out.push_back(sharding);
    }
  }
  return out;
}

/// One chunk per stage takes the first split.
std::span<const StageSplit> splits_of(const SearchSpace& s, int vpp) {
  const std::span<const StageSplit> all{s.split};
  return vpp > 1 ? all : all.first(std::min<std::size_t>(1, all.size()));
}

std::vector<PipeOption> pipes_of(const SearchSpace& s) {
  std::vector<PipeOption> out;
  for (const ScheduleKind schedule : s.schedule) {
    for (const int vpp : s.vpp) {
      if ((vpp > 1) != (schedule == ScheduleKind::Interleaved)) continue;
      for (const StageSplit split : splits_of(s, vpp)) out.push_back({schedule, vpp, split});
    }
  }
  return out;
}

void append_experts(const SearchSpace& s, Unit unit, std::vector<Unit>& units) {
  const bool as_tp = std::find(s.etp.begin(), s.etp.end(), 0) != s.etp.end();
  for (const int ep : s.ep) {
    for (const int etp : s.etp) {
      // With one tensor-parallel rank "as tp" and 1 are the same.
      if (etp == 1 && unit.tp == 1 && as_tp) continue;
      unit.ep = ep;
      unit.etp = etp;
      units.push_back(unit);
    }
  }
}

/// The units of `unit`'s precision and tensor degree. `unused`: how context is exchanged where it is not cut.
void append_contexts(const SearchSpace& s, ContextKind unused, Unit unit, std::vector<Unit>& units) {
  const std::vector<ContextKind> no_context{unused};
  for (const int cp : s.cp) {
    unit.cp = cp;
    for (const ContextKind context : cp > 1 ? s.context : no_context) {
      unit.context = context;
      append_experts(s, unit, units);
    }
  }
}

}  // namespace

SearchSpace filled_space(const SearchProblem& problem, std::size_t hardware) {
  SearchSpace s = problem.space;
  const Scenario base = base_on(problem, hardware);
  const int replicas = base.layout.outer_replicas;
  fill_degrees(problem, base.cluster.gpus / replicas, base.recipe.global_batch / replicas, s);
  fill_choices(problem, s);
  return s;
}

bool counts_layers(const Space& space) {
  return std::ranges::any_of(space.recomputes, [](const RecomputeOption& option) {
    return option.recompute.mode == RecomputeMode::Layers;
  });
}

Space make_space(const SearchProblem& problem, std::size_t hardware) {
  Space space{.lists = filled_space(problem, hardware)};
  const SearchSpace& s = space.lists;
  space.pipes = pipes_of(s);
  const bool plain = std::find(s.vpp.begin(), s.vpp.end(), 1) != s.vpp.end();
  if (plain) {
    space.without_pipeline = {{}};
  } else {
    for (const int vpp : s.vpp) {
      space.without_pipeline.push_back({ScheduleKind::Interleaved, vpp, StageSplit::Even});
    }
  }
  for (const Recompute& recompute : s.recompute) {
    RecomputeOption option{recompute, recompute.mode == RecomputeMode::Layers && recompute.layers == 0};
    option.recompute.stage_layers.clear();
    space.recomputes.push_back(option);
  }
  space.shardings = shardings_of(problem, s, problem.hardware[hardware].cluster);
  Sharding least = problem.base.layout.sharding;
  least.stage = *std::min_element(s.zero.begin(), s.zero.end());
  least.group = 0;
  space.unsharded = {least};
  least.stage = *std::max_element(s.zero.begin(), s.zero.end());
  space.unsharded_offloaded = {least};
  return space;
}

namespace {

void append_tensor_degrees(const SearchSpace& s, ContextKind context, Unit unit, std::vector<Unit>& units) {
  for (const int tp : s.tp) {
    unit.tp = tp;
    append_contexts(s, context, unit, units);
  }
}

/// Where no optimizer is offloaded, a share of it makes no difference.
void append_fractions(const SearchProblem& problem, const SearchSpace& s, Unit unit,
                      std::vector<Unit>& units) {
  const bool varied = (unit.offload & kOffloadOptimizer) != 0;
  const std::vector<double> unvaried{problem.base.recipe.offload_fraction};
  for (const double fraction : varied ? s.offload_fraction : unvaried) {
    unit.offload_fraction = fraction;
    append_tensor_degrees(s, problem.base.layout.context, unit, units);
  }
}

}  // namespace

std::vector<Unit> units_of(const SearchProblem& problem, const Space& space, std::size_t hardware) {
  const SearchSpace& s = space.lists;
  std::vector<Unit> units;
  Unit unit{.hardware = hardware};
  for (const Precision precision : s.precision) {
    unit.precision = precision;
    for (const std::uint8_t offload : s.offload) {
      unit.offload = offload;
      append_fractions(problem, s, unit, units);
    }
  }
  return units;
}

const std::vector<Sharding>& Space::shardings_for(int ranks, std::uint8_t offload) const {
  if (ranks > 1) return shardings;
  return (offload & kOffloadParameters) != 0 ? unsharded_offloaded : unsharded;
}

std::vector<std::size_t> distinct_orders(const std::vector<std::array<Axis, 4>>& orders,
                                         const Layout& layout) {
  std::vector<std::vector<Axis>> seen;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    std::vector<Axis> cut;
    for (const Axis axis : orders[i]) {
      if (degree_of(layout, axis) > 1) cut.push_back(axis);
    }
    if (std::find(seen.begin(), seen.end(), cut) != seen.end()) continue;
    seen.push_back(std::move(cut));
    out.push_back(i);
  }
  return out;
}

void apply(const Unit& unit, Scenario& sc) {
  sc.recipe.precision = unit.precision;
  sc.recipe.offload = unit.offload;
  sc.recipe.offload_fraction = unit.offload_fraction;
  sc.layout.tp = unit.tp;
  sc.layout.cp = unit.cp;
  sc.layout.context = unit.context;
  sc.layout.ep = unit.ep;
  sc.layout.etp = unit.etp;
}

void apply_grid(const Unit& unit, const Space& space, const Candidate& candidate, Scenario& sc) {
  const SearchSpace& s = space.lists;
  Layout& l = sc.layout;
  apply(unit, sc);
  l.pp = s.pp[candidate.pp];
  l.dp = static_cast<int>(std::max<std::int64_t>(1, sc.cluster.gpus / l.ranks_per_dp()));
  l.order = s.order[candidate.order];
  l.sharding = space.shardings_for(l.dp * l.cp, unit.offload)[candidate.sharding];
}

void apply(const Unit& unit, const Space& space, const Candidate& candidate, Scenario& sc) {
  const SearchSpace& s = space.lists;
  Layout& l = sc.layout;
  apply_grid(unit, space, candidate, sc);
  const PipeOption pipe = (l.pp > 1 ? space.pipes : space.without_pipeline)[candidate.pipe];
  l.schedule = pipe.schedule;
  l.vpp = pipe.vpp;
  l.split = pipe.split;
  l.sp = l.tp > 1 && s.sp[candidate.sp];
  sc.recipe.micro_batch = s.micro_batch[candidate.batch];
  sc.recipe.recompute = space.recomputes[candidate.recompute].recompute;
  if (space.recomputes[candidate.recompute].every_count) sc.recipe.recompute.layers = candidate.layers;
}

}  // namespace hexaplan::planner
