#include "validator/executor/verify/layout_space.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "validator/executor/parameters/initial_values.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {
namespace {

using costmodel::Axis;
using costmodel::ContextKind;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::StageSplit;

/// One way in which scenarios differ: sets its `value`-th of `values` choices.
struct Dimension {
  int values;
  void (*set)(Scenario& scenario, int value);
};

/// The v-th of a row of values.
template <class T, std::size_t N>
constexpr T pick(const T (&values)[N], int v) {
  return values[static_cast<std::size_t>(v)];
}

struct Order {
  ScheduleKind schedule;
  int vpp = 1;
};
constexpr Order kOrders[] = {{ScheduleKind::OneFOneB},
                             {ScheduleKind::GPipe},
                             {ScheduleKind::ZbH1},
                             {ScheduleKind::Zb2p},
                             {ScheduleKind::Zbv},
                             {ScheduleKind::VHalf},
                             {ScheduleKind::DualPipe},
                             {ScheduleKind::DualPipeV},
                             {ScheduleKind::Interleaved, 2},
                             {ScheduleKind::Interleaved, 3},
                             {ScheduleKind::Interleaved, 4},
                             {ScheduleKind::Interleaved, 8}};

void set_order(Scenario& s, int v) {
  const Order order = pick(kOrders, v);
  s.layout.schedule = order.schedule;
  s.layout.vpp = order.vpp;
}

/// Layers over the chunks: one each, with a remainder, or every other chunk with one more.
void set_split(Scenario& s, int v) {
  costmodel::Layout& l = s.layout;
  const int chunks = costmodel::chunk_positions(l.schedule, l.pp, costmodel::chunks_per_stage(l));
  constexpr StageSplit kSplits[] = {StageSplit::Even,
                                    StageSplit::Even,
                                    StageSplit::Explicit,
                                    StageSplit::EndsMinusOne,
                                    StageSplit::EmbeddingCounts,
                                    StageSplit::ComputeCost};
  l.split = pick(kSplits, v);
  s.model.layers = chunks + (v > 0 ? 1 : 0);
  if (l.split != StageSplit::Explicit) return;
  for (int chunk = 0; chunk < chunks; ++chunk) l.stage_layers.push_back(chunk % 2 == 0 ? 2 : 1);
  s.model.layers = std::accumulate(l.stage_layers.begin(), l.stage_layers.end(), std::int64_t{0});
}

/// Dense; with experts; with shared ones; the first layer dense; every other layer dense.
void set_experts(Scenario& s, int v) {
  if (v == 0) return;
  s.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8};
  if (v >= 2) s.model.moe.shared_ffn = 48;
  if (v == 3) s.model.moe.first_k_dense = 1;
  if (v == 4) s.model.moe.period = 2;
}

/// No capacity of experts; one that half of the copies, or some, are beyond; and padding, with and without.
void set_capacity(Scenario& s, int v) {
  struct Choice {
    double factor = 0;
    bool pads = false;
  };
  constexpr Choice kChoices[] = {{}, {0.5}, {0.75}, {0.5, true}, {1.5, true}};
  const Choice choice = pick(kChoices, v);
  s.recipe.routing.capacity_factor = choice.factor;
  s.recipe.routing.pad_to_capacity = choice.pads;
}
constexpr int kCapacities = 5;

/// Usual ones, or widths that fill no row of a kernel: odd where no rank's share has to be even.
void set_widths(Scenario& s, int v) {
  if (v == 0) return;
  const std::int64_t tp = s.layout.tp;
  s.model.hidden = 13;
  s.model.vocab = 67;
  s.model.mlp.ffn = 7 * tp;
  s.model.attention.head_dim = s.model.attention.v_head_dim = 6;
  if (!s.model.is_moe()) return;
  s.model.moe.expert_ffn = 5 * tp;
  if (s.model.moe.shared_ffn > 0) s.model.moe.shared_ffn = 3 * tp;
}

/// Attention beside grouped heads: biases, norms of q and k, latent, a gate of what attention makes.
void set_attention(Scenario& s, int v) {
  costmodel::AttentionSpec& a = s.model.attention;
  a.qkv_bias = v == 1;
  a.qk_norm = v == 2;
  a.output_gate = v == 4;
  if (v != 3) return;
  a = {.kind = costmodel::AttentionKind::Latent, .heads = a.heads, .kv_heads = a.heads};
  a.q_lora_rank = 10, a.kv_lora_rank = 6, a.qk_nope_dim = 4, a.qk_rope_dim = 2;
  a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
  a.v_head_dim = 4;
}

/// Llama's block or GPT-2's.
void set_block(Scenario& s, int v) {
  if (v == 0) return;
  s.model.norm = costmodel::NormKind::Layer;
  s.model.positions = costmodel::PositionKind::Learned;
  s.model.max_positions = 512;
  s.model.mlp.gated = false;
  s.model.mlp.activation = costmodel::Activation::Gelu;
  s.model.norm_bias = s.model.mlp.bias = s.model.attention.qkv_bias = s.model.attention.output_bias = true;
}

void set_window(Scenario& s, int v) {
  if (v == 0) return;
  s.model.attention.window = 5;
  s.model.attention.global_period = v == 1 ? 0 : 2;
}

/// Modules that a plan recomputes; what the model has not is not said.
constexpr std::uint16_t kModules[] = {
    costmodel::kRecomputeNorm | costmodel::kRecomputeActivation,
    costmodel::kRecomputeMlp,
    costmodel::kRecomputeCoreAttention | costmodel::kRecomputeNorm,
    costmodel::kRecomputeMlaUpProjection | costmodel::kRecomputeMlp,
    costmodel::kRecomputeMoe,
    costmodel::kRecomputeMoeActivation | costmodel::kRecomputeNorm,
    costmodel::kRecomputeSharedExperts | costmodel::kRecomputeMoeActivation};

void set_recomputation(Scenario& s, int v) {
  constexpr RecomputeMode kModes[] = {
      RecomputeMode::None, RecomputeMode::Selective, RecomputeMode::SelectiveOperators,
      RecomputeMode::Full, RecomputeMode::Layers,    RecomputeMode::Layers};
  costmodel::Recompute& r = s.recipe.recompute;
  constexpr int kOthers = static_cast<int>(std::size(kModes));
  if (v >= kOthers) {
    r.mode = RecomputeMode::SelectiveModules;
    r.modules = pick(kModules, v - kOthers);
    return;
  }
  r.mode = pick(kModes, v);
  if (v == 4) r.layers = 1;
  if (v == 5) {  // another count on every stage
    for (int stage = 0; stage < s.layout.pp; ++stage) r.stage_layers.push_back(stage % 2);
  }
}

/// Few, as many as fill the pipeline twice, and numbers that pp does not divide.
void set_batch(Scenario& s, int v) {
  const std::int64_t twice = std::int64_t{2} * s.layout.pp;
  const std::int64_t counts[] = {1, 2, 3, 5, twice, twice + 1};
  s.recipe.global_batch = s.recipe.micro_batch * s.layout.dp * pick(counts, v);
}

/// Every optimizer, and AdamW with moments in 16 bits. Subspaces are smaller than what few tokens make of a
/// gradient, matrices larger than Shampoo's blocks and a side of SOAP's.
void set_optimizer(Scenario& s, int v) {
  using costmodel::Optimizer;
  constexpr Optimizer kOptimizers[] = {Optimizer::AdamW,      Optimizer::AdamW8bit, Optimizer::Adafactor,
                                       Optimizer::Lion,       Optimizer::Sgd,       Optimizer::Muon,
                                       Optimizer::Lamb,       Optimizer::AdamW,     Optimizer::Galore,
                                       Optimizer::Galore8bit, Optimizer::Apollo,    Optimizer::ApolloMini,
                                       Optimizer::Soap,       Optimizer::Shampoo};
  s.recipe.optimizer = pick(kOptimizers, v);
  if (v == 7) s.recipe.moment_dtype = costmodel::DType::Bf16;
  if (costmodel::traits_of(s.recipe.optimizer).projects())
    s.recipe.projection_rank = 2, s.recipe.projection_interval = 2;
  if (costmodel::traits_of(s.recipe.optimizer).preconditions())
    s.recipe.precondition_frequency = 1, s.recipe.max_precondition_dim = 12;
}

/// Nothing offloaded; the optimizer, all or a share of it; parameters; activations, of all layers or of the
/// first; everything, in memory or with the states on disks.
void set_offload(Scenario& s, int v) {
  using costmodel::OffloadDevice;
  constexpr std::uint8_t kEverything =
      costmodel::kOffloadOptimizer | costmodel::kOffloadParameters | costmodel::kOffloadActivations;
  struct Choice {
    std::uint8_t what = 0;
    double share = 1;
    int layers = 0;
    OffloadDevice device = OffloadDevice::Cpu;
  };
  constexpr Choice kChoices[] = {{},
                                 {costmodel::kOffloadOptimizer},
                                 {costmodel::kOffloadOptimizer, 0.375},
                                 {costmodel::kOffloadParameters},
                                 {costmodel::kOffloadActivations},
                                 {costmodel::kOffloadActivations, 1, 1},
                                 {kEverything},
                                 {kEverything, 0.5, 1, OffloadDevice::Nvme}};
  const Choice& choice = kChoices[v];
  s.recipe.offload = choice.what;
  s.recipe.offload_fraction = choice.share;
  s.recipe.offload_layers = choice.layers;
  s.recipe.offload_device = choice.device;
}
constexpr int kOffloads = 8;

/// Behind the backward pass or, of one micro-batch, in it.
void set_update(Scenario& s, int v) {
  if (v == 0) return;
  s.recipe.optimizer_in_backward = true;
  s.recipe.global_batch = s.recipe.micro_batch * s.layout.dp;
}

/// Gradients reduced in every micro-batch, or in the last one: all, or those of hybrid shards' replicas.
void set_reduction(Scenario& s, int v) {
  using costmodel::GradientReduction;
  s.recipe.execution.reduction =
      pick({GradientReduction::Default, GradientReduction::Once, GradientReduction::ReplicasOnce}, v);
  if (v == 2) s.layout.sharding.stage = 3, s.layout.sharding.group = 2;
}

/// Gradients reduced as they are or in 4 bits: in one node, on nodes of two ranks, of one.
void set_gradient_bits(Scenario& s, int v) {
  if (v == 0) return;
  s.layout.sharding.quantized_gradients = true;
  costmodel::NetworkLevel node = s.cluster.levels.front(), network = node;
  node.fabric = costmodel::Fabric::NvSwitch;
  s.cluster.gpus_per_node = pick({static_cast<int>(kMostRanks), 2, 1}, v - 1);
  node.ranks = s.cluster.gpus_per_node;
  network.fabric = costmodel::Fabric::Network;
  network.ranks = kMostRanks;
  s.cluster.levels = {node, network};
}

/// All parameters trained, low-rank adapters beside some linear layers, or scales; adapters beside weights in
/// 4 bits, whose scales have 32 bits or 8. Some learn magnitudes.
void set_adapters(Scenario& s, int v) {
  if (v == 0) return;
  if (v == 6) {
    s.recipe.fine_tune = costmodel::FineTune::Ia3;
    return;
  }
  using costmodel::AdapterTargets;
  constexpr AdapterTargets kTargets[] = {AdapterTargets::AllLinear, AdapterTargets::QueryValue,
                                         AdapterTargets::Attention, AdapterTargets::QueryKeyValue,
                                         AdapterTargets::Mlp};
  s.recipe.fine_tune = v < 7 ? costmodel::FineTune::Lora : costmodel::FineTune::Qlora;
  s.recipe.double_quantization = v == 8;
  s.recipe.dora = v % 2 == 1;
  s.recipe.lora_targets = pick(kTargets, v < 7 ? v - 1 : v - 7);
  s.recipe.lora_rank = 1 + v % 3;
}

/// Nothing beside adapters; biases, of all layers or of the adapted ones; the output layer, both ends, or the
/// word table.
void set_trained_beside(Scenario& s, int v) {
  using costmodel::SavedModules;
  using costmodel::TrainedBiases;
  if (trains_low_rank(s.recipe))
    s.recipe.lora_bias = pick({TrainedBiases::None, TrainedBiases::All, TrainedBiases::Adapted,
                               TrainedBiases::None, TrainedBiases::All, TrainedBiases::None},
                              v);
  if (trains_adapters(s.recipe) && !s.model.tied_embeddings && v >= 3)
    s.recipe.saved_modules = pick({SavedModules::Head, SavedModules::Both, SavedModules::Embedding}, v - 3);
}

/// No outer steps; some of one replica; of two or three that train apart, each on as many sequences, whose
/// gradients travel in 32 or 16 bits and whose states lie on the device, in both memories or on the host.
void set_outer_steps(Scenario& s, int v) {
  if (v == 0) return;
  using costmodel::OuterStates;
  struct Choice {
    int replicas = 1;
    costmodel::DType dtype = costmodel::DType::Fp32;
    OuterStates states = OuterStates::Gpu;
  };
  constexpr Choice kChoices[] = {{},
                                 {2},
                                 {2, costmodel::DType::Bf16, OuterStates::CopyOnHost},
                                 {3, costmodel::DType::Fp32, OuterStates::Host}};
  const Choice choice = pick(kChoices, v - 1);
  s.recipe.outer = {.every = 2, .dtype = choice.dtype, .states = choice.states};
  s.layout.outer_replicas = choice.replicas;
  s.recipe.global_batch *= choice.replicas;
}
constexpr int kOuterSteps = 5;

/// What a later row changes may depend on what an earlier one has set.
constexpr std::array kDimensions{
    Dimension{5,
              [](Scenario& s, int v) {
                s.layout.tp = pick({1, 2, 4, 8, 3}, v);
              }},
    Dimension{2, [](Scenario& s, int v) { s.layout.sp = v == 1; }},
    Dimension{4,
              [](Scenario& s, int v) {
                s.layout.cp = pick({1, 2, 4, 3}, v);
              }},
    Dimension{costmodel::kContextKinds,
              [](Scenario& s, int v) { s.layout.context = static_cast<ContextKind>(v); }},
    Dimension{4,
              [](Scenario& s, int v) {
                s.layout.dp = pick({1, 2, 4, 3}, v);
              }},
    Dimension{4, [](Scenario& s, int v) { s.layout.sharding.stage = v; }},
    Dimension{2, [](Scenario& s, int v) { s.layout.sharding.group = v == 0 ? 0 : 2; }},
    Dimension{4,
              [](Scenario& s, int v) {
                s.layout.pp = pick({1, 2, 4, 3}, v);
              }},
    Dimension{static_cast<int>(std::size(kOrders)), set_order},
    Dimension{6, set_split},
    Dimension{2,
              [](Scenario& s, int v) {
                if (v == 1) s.layout.order = {Axis::Data, Axis::Tensor, Axis::Pipeline, Axis::Context};
              }},
    Dimension{5, set_experts},
    Dimension{2,
              [](Scenario& s, int v) {
                if (s.model.is_moe()) s.model.moe.top_k = 1 + v;
              }},
    Dimension{4,
              [](Scenario& s, int v) {
                s.layout.ep = pick({1, 2, 4, 8}, v);
              }},
    Dimension{3, [](Scenario& s, int v) { s.layout.etp = v; }},
    Dimension{2,
              [](Scenario& s, int v) {
                s.model.attention.heads = pick({8, 6}, v);
              }},
    Dimension{
        3,
        [](Scenario& s, int v) {
          s.model.attention.kv_heads = pick({s.model.attention.heads, std::int64_t{2}, std::int64_t{1}}, v);
        }},
    Dimension{2, set_widths},
    Dimension{5, set_attention},
    Dimension{2, set_block},
    Dimension{3, set_window},
    Dimension{2, [](Scenario& s, int v) { s.model.tied_embeddings = v == 1; }},
    Dimension{9, set_adapters},
    Dimension{6, set_trained_beside},
    Dimension{6 + static_cast<int>(std::size(kModules)), set_recomputation},
    Dimension{2, [](Scenario& s, int v) { s.recipe.micro_batch = v + 1; }},
    Dimension{6, set_batch},
    Dimension{3,
              [](Scenario& s, int v) {
                s.recipe.precision = pick({Precision::Bf16, Precision::Fp32, Precision::Fp16}, v);
              }},
    Dimension{4,
              [](Scenario& s, int v) { s.recipe.cross_entropy = static_cast<costmodel::CrossEntropy>(v); }},
    Dimension{14, set_optimizer},
    // Statistics kept of attention, or its scores by one kernel or by many.
    Dimension{3,
              [](Scenario& s, int v) {
                using costmodel::AttentionKernel;
                s.recipe.attention = pick(
                    {AttentionKernel::Flash, AttentionKernel::FusedSoftmax, AttentionKernel::Unfused}, v);
              }},
    Dimension{2, [](Scenario& s, int v) { s.recipe.dropout = v == 1 ? 0.25 : 0; }},
    Dimension{kOffloads, set_offload},
    Dimension{2, set_update},
    Dimension{3, set_reduction},
    Dimension{2, [](Scenario& s, int v) { s.layout.partition_activations = v == 1; }},
    Dimension{3,
              [](Scenario& s, int v) {
                s.layout.sharding.hpz = pick({0, 2, 3}, v);
              }},
    Dimension{2, [](Scenario& s, int v) { s.layout.sharding.quantized_weights = v == 1; }},
    Dimension{4, set_gradient_bits},
    Dimension{3, [](Scenario& s, int v) { s.model.mtp_layers = v; }},
    Dimension{kCapacities, set_capacity},
    Dimension{kOuterSteps, set_outer_steps},
};
using Values = std::array<int, kDimensions.size()>;

/// The model and recipe that dimensions are set on. Experts are evenly filled when every run of consecutive
/// positions that a rank holds is a multiple of their number.
Scenario scenario_of(const Scenario& base, const Values& values) {
  Scenario sc = base;
  sc.model = {};
  sc.model.name = "custom";
  sc.model.hidden = 16;
  sc.model.vocab = 61;
  sc.model.attention = {.heads = 4, .kv_heads = 4, .head_dim = 4, .v_head_dim = 4};
  sc.model.mlp = {.ffn = 24};
  sc.layout = {};
  sc.recipe = {};
  for (std::size_t i = 0; i < kDimensions.size(); ++i) kDimensions[i].set(sc, values[i]);
  const std::int64_t even = std::max<std::int64_t>(4, sc.model.moe.experts);
  sc.recipe.sequence = 2 * even * sc.layout.cp * sc.layout.tp;
  sc.cluster.gpus = sc.layout.world_size();
  return sc;
}

/// Keys' biases have no gradient but rounding (a softmax does not see what all keys share), of which Lion
/// takes the sign, and Adafactor, which divides it by its own size, as good as that.
bool steps_along_rounding(const Scenario& sc) {
  const bool signs = sc.recipe.optimizer == costmodel::Optimizer::Lion;
  return (signs || sc.recipe.optimizer == costmodel::Optimizer::Adafactor) && sc.model.attention.qkv_bias;
}

bool uses_zero_plus_plus(const costmodel::Sharding& z) {
  return z.hpz > 0 || z.quantized_weights || z.quantized_gradients;
}

bool sharding_is_idle(const Scenario& sc) {
  const costmodel::Layout& l = sc.layout;
  const costmodel::GradientReduction asked = sc.recipe.execution.reduction;
  const bool reduces_otherwise =
      asked != costmodel::GradientReduction::Default && costmodel::gradient_reduction(sc) != asked;
  return (l.sharding.group > 0 && l.sharding.group >= l.dp * l.cp) || reduces_otherwise ||
         (l.partition_activations && (l.tp == 1 || l.sp || !sc.recipe.recompute.of_layers())) ||
         (uses_zero_plus_plus(l.sharding) && (l.sharding.stage < 3 || l.shard_ranks() == 1));
}

/// A choice that changes nothing beside another one makes a second name for the same scenario.
bool is_idle(const Scenario& sc) {
  const costmodel::Layout& l = sc.layout;
  return (l.sp && l.tp == 1) || (l.context != ContextKind::Ring && l.cp == 1) ||
         (l.schedule != ScheduleKind::OneFOneB && l.pp == 1) || sharding_is_idle(sc) ||
         ((l.etp > 0 || sc.recipe.routing.drops()) && !sc.model.is_moe()) || (l.etp > 0 && l.tp == 1) ||
         sc.recipe.recompute.stage_layers.size() == 1;
}

std::optional<Scenario> accepted(const Scenario& base, const Values& values) {
  Scenario sc = scenario_of(base, values);
  if (sc.layout.world_size() > kMostRanks || is_idle(sc) || steps_along_rounding(sc)) return std::nullopt;
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
  /// `values` with up to `most` of them drawn anew.
  Values changed(Values values, int most) {
    for (int changes = below(most + 1); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(below(static_cast<int>(values.size())));
      values[at] = below(kDimensions[at].values);
    }
    return values;
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

/// Accepted choices, each of which others are drawn from: most draws from nowhere are accepted by nobody.
class Pool {
 public:
  /// The plain model on one rank is accepted.
  Pool(const Scenario& base, std::uint64_t seed) : base_{base}, draws_{seed}, known_{Values{}} {}

  /// Calls `visit(values)` for some accepted choices that have every one of `fixed`, none where they exclude
  /// each other.
  template <class Visitor>
  void draw_with(std::span<const std::pair<std::size_t, int>> fixed, int candidates, const Visitor& visit) {
    constexpr int kDraws = 2000;  // enough that values which stand together are hardly ever missed
    constexpr int kMostChanges = 8;
    for (int i = 0; i < kDraws && candidates > 0; ++i) {
      const auto& from = known_[static_cast<std::size_t>(draws_.below(static_cast<int>(known_.size())))];
      Values values = draws_.changed(from, kMostChanges);
      for (const auto& [dimension, value] : fixed) values[dimension] = value;
      if (!accepted(base_, values)) continue;
      --candidates;
      visit(values);
    }
  }
  void add(const Values& values) { known_.push_back(values); }

  /// A walk over accepted choices that keeps a step when it is accepted meets all of them equally often,
  /// because steps are as likely forth as back (Metropolis et al., J. Chem. Phys. 21, 1953).
  Values walk(Values at) {
    constexpr int kSteps = 100, kMostChanges = 4;
    for (int i = 0; i < kSteps; ++i) {
      const Values next = draws_.changed(at, kMostChanges);
      if (accepted(base_, next)) at = next;
    }
    return at;
  }
  [[nodiscard]] const Values& last() const { return known_.back(); }
  [[nodiscard]] Draws& draws() { return draws_; }

 private:
  const Scenario& base_;
  Draws draws_;
  std::vector<Values> known_;
};

/// Adds a draw that has value `v` in dimension `d`; false where none is accepted.
bool has_home(Pool& pool, std::size_t d, int v) {
  const std::pair<std::size_t, int> fixed[] = {{d, v}};
  bool found = false;
  pool.draw_with(fixed, 1, [&](const Values& values) {
    pool.add(values);
    found = true;
  });
  return found;
}

void close_pairs_with(std::set<Pair>& open, std::size_t d, int v) {
  std::erase_if(open, [&](const Pair& p) {
    return (p.first == d && p.first_value == v) || (p.second == d && p.second_value == v);
  });
}

/// Finds a home for every value; pairs of those that nothing accepts are no longer open.
void drop_refused_values(Pool& pool, std::set<Pair>& open) {
  for (std::size_t d = 0; d < kDimensions.size(); ++d) {
    for (int v = 0; v < kDimensions[d].values; ++v) {
      if (!has_home(pool, d, v)) close_pairs_with(open, d, v);
    }
  }
}

/// The accepted draw with the pair that covers most of what is open; nothing where no draw is accepted.
std::optional<Values> best_with(Pool& pool, const Pair& pair, const std::set<Pair>& open) {
  constexpr int kCandidates = 12;
  const std::pair<std::size_t, int> fixed[] = {{pair.first, pair.first_value},
                                               {pair.second, pair.second_value}};
  std::optional<Values> best;
  int most = 0;
  pool.draw_with(fixed, kCandidates, [&](const Values& values) {
    int covered = 0;
    for_each_pair(values, [&](const Pair& p) { covered += open.contains(p) ? 1 : 0; });
    if (covered > most) {
      most = covered;
      best = values;
    }
  });
  return best;
}

/// Which values of every dimension have been visited.
class Visited {
 public:
  void add(const Values& values) {
    for (std::size_t d = 0; d < values.size(); ++d) met_.emplace(d, values[d]);
  }
  [[nodiscard]] bool has(const Pair& p) const {
    return met_.contains({p.first, p.first_value}) && met_.contains({p.second, p.second_value});
  }

 private:
  std::set<std::pair<std::size_t, int>> met_;
};

/// Values that nobody has visited come first, then pairs from everywhere, so that the first scenarios are a
/// cross section. Precondition: some are open.
Pair next_of(const std::set<Pair>& open, const Visited& visited, Draws& draws) {
  const auto found = std::ranges::find_if(open, [&](const Pair& p) { return !visited.has(p); });
  return found != open.end() ? *found : *std::next(open.begin(), draws.below(static_cast<int>(open.size())));
}

/// Adds to the pool choices in which every two values that stand together do so; calls `visit` for each.
template <class Visitor>
void cover(Pool& pool, const Visitor& visit) {
  std::set<Pair> open = all_pairs();
  drop_refused_values(pool, open);
  Visited visited;
  while (!open.empty()) {
    const Pair pair = next_of(open, visited, pool.draws());
    const std::optional<Values> values = best_with(pool, pair, open);
    if (!values) {
      open.erase(pair);  // the two exclude each other
      continue;
    }
    for_each_pair(*values, [&](const Pair& p) { open.erase(p); });
    pool.add(*values);
    visited.add(*values);
    visit(*values);
  }
}

}  // namespace

std::vector<Scenario> covering_scenarios(const Scenario& base, std::uint64_t seed) {
  Pool pool{base, seed};
  std::vector<Scenario> out;
  cover(pool, [&](const Values& values) { out.push_back(scenario_of(base, values)); });
  return out;
}

std::vector<Scenario> random_scenarios(const Scenario& base, int count, std::uint64_t seed) {
  Pool pool{base, seed};
  std::vector<Scenario> out;
  cover(pool, [&](const Values& values) { out.push_back(scenario_of(base, values)); });
  Values at = pool.last();
  while (static_cast<int>(out.size()) < count) {
    at = pool.walk(at);
    out.push_back(scenario_of(base, at));
  }
  out.resize(static_cast<std::size_t>(count));
  return out;
}

}  // namespace hexaplan::validator
