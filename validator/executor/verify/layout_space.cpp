#include "validator/executor/verify/layout_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "costmodel/step/estimate.h"
#include "validator/executor/parameters/initial_values.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {
namespace {

using costmodel::ContextKind;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;

/// One way in which scenarios differ: sets its `value`-th of `values` choices.
struct Dimension {
  std::string_view name;
  int values;
  void (*set)(Scenario& scenario, int value);
};

constexpr int power_of_two(int exponent) {
  return 1 << exponent;
}

/// What a later row changes may depend on what an earlier one has set.
constexpr std::array kDimensions{
    Dimension{"tp", 3, [](Scenario& s, int v) { s.layout.tp = power_of_two(v); }},
    Dimension{"sp", 2, [](Scenario& s, int v) { s.layout.sp = v == 1; }},
    Dimension{"cp", 3, [](Scenario& s, int v) { s.layout.cp = power_of_two(v); }},
    Dimension{
        "context", 2,
        [](Scenario& s, int v) { s.layout.context = v == 0 ? ContextKind::Ring : ContextKind::AllGather; }},
    Dimension{"dp", 3, [](Scenario& s, int v) { s.layout.dp = power_of_two(v); }},
    Dimension{"zero", 4, [](Scenario& s, int v) { s.layout.sharding.stage = v; }},
    Dimension{"shard", 2, [](Scenario& s, int v) { s.layout.sharding.group = v == 0 ? 0 : 2; }},
    Dimension{"pp", 3, [](Scenario& s, int v) { s.layout.pp = power_of_two(v); }},
    Dimension{"schedule", 4,
              [](Scenario& s, int v) {
                constexpr std::array kKinds = {ScheduleKind::OneFOneB, ScheduleKind::GPipe,
                                               ScheduleKind::ZbH1, ScheduleKind::Interleaved};
                s.layout.schedule = kKinds[static_cast<std::size_t>(v)];
                s.layout.vpp = s.layout.schedule == ScheduleKind::Interleaved ? 2 : 1;
              }},
    Dimension{"layers", 2,
              [](Scenario& s, int v) { s.model.layers = std::int64_t{s.layout.pp} * s.layout.vpp + v; }},
    Dimension{"model", 4,
              [](Scenario& s, int v) {
                if (v == 0) return;  // dense
                s.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8};
                if (v >= 2) s.model.moe.shared_ffn = 12;
                if (v == 3) s.model.moe.first_k_dense = 1;
              }},
    Dimension{"top_k", 2,
              [](Scenario& s, int v) {
                if (s.model.is_moe()) s.model.moe.top_k = 1 + v;
              }},
    Dimension{"ep", 3, [](Scenario& s, int v) { s.layout.ep = power_of_two(v); }},
    Dimension{"etp", 2, [](Scenario& s, int v) { s.layout.etp = v; }},
    Dimension{"kv_heads", 3, [](Scenario& s, int v) { s.model.attention.kv_heads = power_of_two(v); }},
    Dimension{"window", 2,
              [](Scenario& s, int v) {
                if (v == 0) return;
                s.model.attention.window = 5;
                s.model.attention.global_period = 2;
              }},
    Dimension{"tied", 2, [](Scenario& s, int v) { s.model.tied_embeddings = v == 1; }},
    Dimension{"recompute", 4,
              [](Scenario& s, int v) {
                constexpr std::array kModes = {RecomputeMode::None, RecomputeMode::Selective,
                                               RecomputeMode::Full, RecomputeMode::Layers};
                s.recipe.recompute.mode = kModes[static_cast<std::size_t>(v)];
                s.recipe.recompute.layers = 1;
              }},
    Dimension{"micro_batch", 2, [](Scenario& s, int v) { s.recipe.micro_batch = v + 1; }},
    Dimension{"micro_batches", 3,
              [](Scenario& s, int v) {
                s.recipe.global_batch =
                    s.recipe.micro_batch * s.layout.dp * std::array{1, 2, 4}[static_cast<std::size_t>(v)];
              }},
    Dimension{"precision", 2,
              [](Scenario& s, int v) {
                s.recipe.precision = v == 0 ? costmodel::Precision::Bf16 : costmodel::Precision::Fp32;
              }},
};
using Values = std::array<int, kDimensions.size()>;

/// The model and recipe that dimensions are set on. Four experts are evenly filled when every run of
/// consecutive positions that a rank holds is a multiple of four.
Scenario scenario_of(const Scenario& base, const Values& values) {
  Scenario sc = base;
  sc.model = {};
  sc.model.name = "verify";
  sc.model.hidden = 16;
  sc.model.vocab = 61;
  sc.model.attention = {.heads = 4, .kv_heads = 4, .head_dim = 4, .v_head_dim = 4};
  sc.model.mlp = {.ffn = 24};
  sc.layout = {};
  sc.recipe = {};
  for (std::size_t i = 0; i < kDimensions.size(); ++i) kDimensions[i].set(sc, values[i]);
  constexpr std::int64_t kEven = 4;
  sc.recipe.sequence = 2 * kEven * sc.layout.cp * sc.layout.tp;
  sc.cluster.gpus = sc.layout.world_size();
  return sc;
}

/// A choice that changes nothing beside another one makes a second name for the same scenario.
bool is_idle(const Scenario& sc) {
  const costmodel::Layout& l = sc.layout;
  return (l.sp && l.tp == 1) || (l.context != ContextKind::Ring && l.cp == 1) ||
         (l.schedule != ScheduleKind::OneFOneB && l.pp == 1) ||
         (l.sharding.group > 0 && l.sharding.group >= l.dp * l.cp) || (l.etp > 0 && !sc.model.is_moe()) ||
         (l.etp > 0 && l.tp == 1);
}

std::optional<Scenario> accepted(const Scenario& base, const Values& values) {
  Scenario sc = scenario_of(base, values);
  if (sc.layout.world_size() > kMostRanks || is_idle(sc)) return std::nullopt;
  if (costmodel::first_rejection(sc) || first_not_executable(sc)) return std::nullopt;
  return sc;
}

/// Numbers from 0 to n − 1 in a row that depends on the seed alone.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_{seed} {}
  int below(int n) {
    return static_cast<int>(counter_random(seed_, 0, count_++) % static_cast<std::uint64_t>(n));
  }
  Values values() {
    Values v{};
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = below(kDimensions[i].values);
    return v;
  }

 private:
  std::uint64_t seed_, count_ = 0;
};

/// Value `first_value` of dimension `first` beside `second_value` of `second`.
struct Pair {
  std::size_t first, second;
  int first_value, second_value;
  friend auto operator<=>(const Pair&, const Pair&) = default;  // NOLINT(modernize-use-nullptr)
};

template <class Visitor>
void for_each_pair(const Values& v, const Visitor& visit) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t j = i + 1; j < v.size(); ++j) visit(Pair{i, j, v[i], v[j]});
  }
}

void insert_pairs(std::size_t first, std::size_t second, std::set<Pair>& pairs) {
  for (int a = 0; a < kDimensions[first].values; ++a) {
    for (int b = 0; b < kDimensions[second].values; ++b) pairs.insert({first, second, a, b});
  }
}

std::set<Pair> all_pairs() {
  std::set<Pair> pairs;
  for (std::size_t i = 0; i < kDimensions.size(); ++i) {
    for (std::size_t j = i + 1; j < kDimensions.size(); ++j) insert_pairs(i, j, pairs);
  }
  return pairs;
}

/// The accepted draw with the pair that covers most of what is open; nothing where no draw is accepted.
std::optional<Values> best_with(const Scenario& base, const Pair& pair, const std::set<Pair>& open,
                                Draws& draws) {
  constexpr int kDraws = 3000;  // enough that pairs which stand together are hardly ever missed
  constexpr int kCandidates = 12;
  std::optional<Values> best;
  int most = 0, candidates = 0;
  for (int i = 0; i < kDraws && candidates < kCandidates; ++i) {
    Values v = draws.values();
    v[pair.first] = pair.first_value;
    v[pair.second] = pair.second_value;
    if (!accepted(base, v)) continue;
    ++candidates;
    int covered = 0;
    for_each_pair(v, [&](const Pair& p) { covered += open.contains(p) ? 1 : 0; });
    if (covered > most) {
      most = covered;
      best = v;
    }
  }
  return best;
}

}  // namespace

std::vector<Scenario> covering_scenarios(const Scenario& base, std::uint64_t seed) {
  Draws draws{seed};
  std::set<Pair> open = all_pairs();
  std::vector<Scenario> out;
  while (!open.empty()) {
    const Pair pair = *open.begin();
    const std::optional<Values> values = best_with(base, pair, open, draws);
    if (!values) {
      open.erase(pair);  // the two exclude each other
      continue;
    }
    for_each_pair(*values, [&](const Pair& p) { open.erase(p); });
    out.push_back(scenario_of(base, *values));
  }
  return out;
}

std::string describe(const Scenario& sc) {
  const costmodel::Layout& l = sc.layout;
  const costmodel::Recipe& r = sc.recipe;
  std::string text;
  const auto degree = [&text](std::string_view name, std::int64_t value) {
    if (value > 1) text += fmt::format(" {}={}", name, value);
  };
  degree("dp", l.dp), degree("tp", l.tp), degree("cp", l.cp), degree("pp", l.pp), degree("vpp", l.vpp);
  degree("ep", l.ep);
  if (l.etp > 0) text += fmt::format(" etp={}", l.etp);
  if (l.sp) text += " sp";
  if (l.context == ContextKind::AllGather) text += " gathered-kv";
  if (l.sharding.stage > 0) text += fmt::format(" zero-{}", l.sharding.stage);
  degree("shard", l.sharding.group);
  constexpr std::array<std::string_view, 9> kSchedules = {
      "gpipe", "1f1b", "interleaved", "zb-h1", "zb-2p", "zbv", "v-half", "dualpipe", "dualpipe-v"};
  if (l.pp > 1) text += fmt::format(" {}", kSchedules[static_cast<std::size_t>(l.schedule)]);
  constexpr std::array<std::string_view, 6> kModes = {"",
                                                      " recompute=selective",
                                                      " recompute=modules",
                                                      " recompute=operators",
                                                      " recompute=layers",
                                                      " recompute=full"};
  text += kModes[static_cast<std::size_t>(r.recompute.mode)];
  degree("micro-batch", r.micro_batch);
  degree("micro-batches", costmodel::microbatches_per_step(sc));
  if (sc.model.is_moe()) text += fmt::format(" experts={}×{}", sc.model.moe.experts, sc.model.moe.top_k);
  if (sc.model.moe.shared_ffn > 0) text += " shared";
  if (sc.model.attention.window > 0) text += " window";
  if (sc.model.tied_embeddings) text += " tied";
  return text.empty() ? "one rank" : text.substr(1);
}

std::vector<Scenario> random_scenarios(const Scenario& base, int count, std::uint64_t seed) {
  std::vector<Scenario> out = covering_scenarios(base, seed);
  Draws draws{seed + 1};
  while (static_cast<int>(out.size()) < count) {
    if (const std::optional<Scenario> drawn = accepted(base, draws.values())) out.push_back(*drawn);
  }
  out.resize(static_cast<std::size_t>(count));
  return out;
}

}  // namespace hexaplan::validator
