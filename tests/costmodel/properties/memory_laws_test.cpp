#include <array>
#include <cmath>
#include <limits>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/memory_risk.h"
#include "tests/costmodel/properties/accepted_scenario.h"

namespace hexaplan::costmodel {
namespace {

constexpr std::array<Instant, kInstants> kAllInstants{kForward, kLoss, kBackward, kOptimizer, kIdle};

/// Bytes of one kind alive at `instant`.
Bytes alive(const Scenario& s, int stage, TensorKind kind, Instant instant) {
  return sum_alive(build_ledger(s, stage), instant).of(kind);
}
/// Activations that wait for their backward; of a replay those between tasks, without what a running layer
/// makes and drops.
Bytes kept(const Scenario& s, int stage) {
  if (!needs_replay(s)) return alive(s, stage, TensorKind::Activation, kForward);
  const std::vector<std::vector<ReplayedTask>> tasks = replay_tasks(s);
  Bytes most;
  for (const ReplayedTask& task : tasks[static_cast<std::size_t>(stage)])
    most = larger(most, task.after.activations);
  return most;
}
Bytes states(const Scenario& s, int stage) {
  const MemoryBreakdown idle = sum_alive(build_ledger(s, stage), kIdle);
  return idle.parameters + idle.gradients + idle.optimizer;
}
double parameter_elements(const Scenario& s) {
  double sum = 0;
  for (int stage = 0; stage < s.layout.pp; ++stage) {
    for (const TensorEntry& entry : build_ledger(s, stage)) {
      if (entry.kind == TensorKind::Parameter) sum += entry.elements * entry.count;
    }
  }
  return sum;
}
Scenario plain(Scenario s) {
  s.layout = Layout{.dp = 1};
  s.cluster = support::random_cluster(1);
  s.framework.vocab_multiple = 1;
  s.recipe.global_batch = s.recipe.micro_batch;
  return s;
}

RC_GTEST_PROP(memory_laws, every_entry_of_the_ledger_is_finite_and_not_negative, ()) {
  const Scenario s = accepted_scenario();
  for (int stage = 0; stage < s.layout.pp; ++stage) {
    for (const TensorEntry& entry : build_ledger(s, stage)) {
      RC_ASSERT(std::isfinite(entry.size().value()));
      RC_ASSERT(entry.elements >= 0);
      RC_ASSERT(entry.count >= 0);
      RC_ASSERT(!entry.name.empty());
      RC_ASSERT(entry.alive != 0);
    }
  }
}

RC_GTEST_PROP(memory_laws, every_degree_one_holds_exactly_the_model, ()) {
  const Scenario s = accepted_with(*support::any_scenario(), [](Scenario& x) { x = plain(x); });
  RC_ASSERT(parameter_elements(s) == static_cast<double>(count_parameters(s.model).total));
}

RC_GTEST_PROP(memory_laws, pipeline_stages_add_up_to_the_model_and_a_copy_of_the_tied_embedding, ()) {
  const Scenario s = accepted_with(*support::any_scenario(), [](Scenario& x) {
    const Layout cut = x.layout;
    x = plain(x);
    x.layout.pp = cut.pp;
    x.layout.vpp = cut.vpp;
    x.layout.schedule = cut.schedule;
    x.cluster = support::random_cluster(cut.pp);
    x.recipe.global_batch = x.recipe.micro_batch * cut.pp;
  });
  const bool copies = s.model.tied_embeddings && separates_ends(s.layout);
  const std::int64_t copy = copies ? s.model.vocab * s.model.hidden : 0;
  RC_ASSERT(parameter_elements(s) == static_cast<double>(count_parameters(s.model).total + copy));
}

RC_GTEST_PROP(memory_laws, the_peak_is_the_ledger_at_the_instant_that_binds, ()) {
  const Scenario s = accepted_scenario();
  const Estimate e = estimate_step(s, *support::any_calibration());
  RC_ASSERT(static_cast<int>(e.stages.size()) == s.layout.pp);
  double layers = 0;
  for (const StageMemory& stage : e.stages) {
    const TensorLedger ledger = build_ledger(s, stage.stage);
    RC_ASSERT(
        at_most(std::abs((sum_alive(ledger, stage.instant).allocated() - stage.at_peak.allocated()).value()),
                1e-9 * stage.allocated.value()));
    RC_ASSERT(at_most(stage.at_peak.allocated(), stage.allocated));
    for (const Instant instant : kAllInstants) {
      RC_ASSERT(at_most(sum_alive(ledger, instant).allocated(), stage.allocated));
    }
    RC_ASSERT(at_most(stage.allocated, stage.reserved));
    RC_ASSERT(at_most(stage.reserved, stage.device));
    RC_ASSERT(at_most(stage.needed, stage.device));
    RC_ASSERT(at_most(stage.needed, e.peak().needed));
    RC_ASSERT(
        at_most(Bytes{std::abs((stage.on_device().total() - stage.device).value())}, stage.device * 1e-12));
    RC_ASSERT(at_most(stage.at_peak.total(), stage.needed));
    layers += stage.layers;
  }
  RC_ASSERT(layers == static_cast<double>(s.model.layers));
}

/// Adafactor has moments of rows and columns of whole matrices, and of ZeRO's flat shards one per element
/// (traits_in): the law begins anew where the first cut flattens them.
RC_GTEST_PROP(memory_laws, more_zero_never_needs_more_state_memory, ()) {
  Scenario s = accepted_scenario();
  for (int stage = 0; stage < s.layout.pp; ++stage) {
    Bytes before{1e300};
    bool whole = true;
    for (int zero = 0; zero <= 3; ++zero) {
      s.layout.sharding.stage = zero;
      if (first_rejection(s).has_value()) continue;
      const Bytes now = states(s, stage);
      const bool flattened = traits_of(s.recipe.optimizer).factored && whole && zero > 0;
      RC_ASSERT(flattened || at_most(now, before));
      whole = zero == 0;
      before = now;
    }
  }
}

/// From ZeRO-1 to ZeRO-2 gradients are cut and nothing comes on top: what is gathered and bucketed stays.
/// (ZeRO-3 gathers layers, ZeRO-1 the updated parameters: with few ranks that may be more than what they cut.
/// Where every allocation is known, ZeRO-2 keeps a layer's whole gradient beside the shards.)
RC_GTEST_PROP(memory_laws, cutting_gradients_never_needs_more_device_memory, ()) {
  const Scenario one = accepted_with(accepted_scenario(), [](Scenario& x) {
    x.layout.sharding.stage = 1;
    x.framework.reserved_ratio = 1 + *rc::gen::inRange(0, 150) / 100.0;
    x.framework.unreleasable_share = *rc::gen::inRange(0, 101) / 100.0;
    x.framework.persistent_gradients = *rc::gen::arbitrary<bool>();
    x.framework.flat_optimizer_buffers = *rc::gen::arbitrary<bool>();
  });
  const Scenario two = accepted_with(one, [](Scenario& x) { x.layout.sharding.stage = 2; });
  const Calibration c = *support::any_calibration();
  const Estimate first = estimate_step(one, c), second = estimate_step(two, c);
  for (std::size_t stage = 0; stage < first.stages.size(); ++stage) {
    RC_ASSERT(at_most(second.stages[stage].allocated, first.stages[stage].allocated));
    RC_ASSERT(at_most(second.stages[stage].needed, first.stages[stage].needed));
    RC_ASSERT(at_most(second.stages[stage].device, first.stages[stage].device));
  }
}

/// Of everything that a rank may hold, the allocator gives back only what it can: never live tensors, and
/// only as far as the GPU's memory demands.
RC_GTEST_PROP(memory_laws, cached_memory_never_pushes_a_rank_over_its_capacity, ()) {
  const Scenario s = accepted_with(accepted_scenario(), [](Scenario& x) {
    x.framework.reserved_ratio = 1 + *rc::gen::inRange(0, 150) / 100.0;
    x.framework.unreleasable_share = *rc::gen::inRange(0, 101) / 100.0;
    x.cluster.gpu.memory *= *rc::gen::inRange(1, 200) / 100.0;
  });
  const Estimate e = estimate_step(s, *support::any_calibration());
  for (const StageMemory& stage : e.stages) {
    const Bytes outside = stage.at_peak.communication + stage.at_peak.overhead;
    RC_ASSERT(at_most(stage.allocated + outside, stage.needed));
    RC_ASSERT(at_most(stage.device, larger(stage.needed, e.capacity)));
  }
  RC_ASSERT(std::holds_alternative<Fits>(e.verdict) == (e.peak().needed <= e.capacity));
}

RC_GTEST_PROP(memory_laws, sharded_states_add_up_to_at_least_the_whole, ()) {
  const Scenario s = accepted_with(accepted_scenario(), [](Scenario& x) {
    x.layout.sharding = {.stage = 3};
    x.framework.extra_gradient_copies = 0;
  });
  const Scenario whole = accepted_with(s, [](Scenario& x) { x.layout.sharding.stage = 0; });
  const double ranks = std::max(s.layout.shard_ranks(), s.layout.expert_data());
  for (int stage = 0; stage < s.layout.pp; ++stage) {
    RC_ASSERT(at_most(states(whole, stage), states(s, stage) * ranks));
  }
}

RC_GTEST_PROP(memory_laws, more_recomputation_never_keeps_more_activations, ()) {
  Scenario s = accepted_scenario();
  for (int stage = 0; stage < s.layout.pp; ++stage) {
    Bytes before{1e300};
    for (const RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Selective, RecomputeMode::Full}) {
      s.recipe.recompute = {.mode = mode};
      if (first_rejection(s).has_value()) continue;
      const Bytes now = kept(s, stage);
      RC_ASSERT(at_most(now, before));
      before = now;
    }
  }
}

RC_GTEST_PROP(memory_laws, each_further_recomputed_layer_keeps_no_more_activations, ()) {
  Scenario s = accepted_scenario();
  for (int stage = 0; stage < s.layout.pp; ++stage) {
    Bytes before{1e300};
    for (int layers = 0; layers <= static_cast<int>(s.model.layers) / s.layout.pp; ++layers) {
      s.recipe.recompute = {.mode = RecomputeMode::Layers, .layers = layers};
      if (first_rejection(s).has_value()) continue;
      const Bytes now = kept(s, stage);
      RC_ASSERT(at_most(now, before));
      before = now;
    }
  }
}

RC_GTEST_PROP(memory_laws, larger_micro_batches_never_need_less_memory, ()) {
  const Scenario s = accepted_scenario();
  const Scenario larger = accepted_with(s, [](Scenario& x) {
    x.recipe.micro_batch *= 2;
    x.recipe.global_batch *= 2;
  });
  const Calibration c = *support::any_calibration();
  const Estimate small = estimate_step(s, c), large = estimate_step(larger, c);
  for (std::size_t stage = 0; stage < small.stages.size(); ++stage) {
    RC_ASSERT(at_most(small.stages[stage].allocated, large.stages[stage].allocated));
  }
}

RC_GTEST_PROP(memory_laws, longer_sequences_never_need_less_memory, ()) {
  const Scenario s = accepted_scenario();
  const Scenario longer = accepted_with(s, [](Scenario& x) { x.recipe.sequence *= 2; });
  const Calibration c = *support::any_calibration();
  const Estimate small = estimate_step(s, c), large = estimate_step(longer, c);
  for (std::size_t stage = 0; stage < small.stages.size(); ++stage) {
    RC_ASSERT(at_most(small.stages[stage].allocated, large.stages[stage].allocated));
  }
}

RC_GTEST_PROP(memory_laws, larger_memory_never_turns_fits_into_does_not_fit, ()) {
  const Scenario s = accepted_scenario();
  Scenario larger = s;
  larger.cluster.gpu.memory *= 1 + *rc::gen::inRange(1, 100) / 10.0;
  const Calibration c = *support::any_calibration();
  const Estimate small = estimate_step(s, c), large = estimate_step(larger, c);
  RC_ASSERT(!std::holds_alternative<Fits>(small.verdict) || std::holds_alternative<Fits>(large.verdict));
  RC_ASSERT(at_most(large.out_of_memory_probability, small.out_of_memory_probability));
}

RC_GTEST_PROP(memory_laws, the_most_memory_at_a_risk_is_where_the_chance_of_estimate_step_passes_it, ()) {
  Scenario sc = accepted_scenario();
  const Calibration calibration = *support::any_calibration();
  const double risk = *rc::gen::inRange(0, 1000) / 1000.0;
  const double sigma = memory_sigma(sc.framework, calibration);
  const Bytes most = most_memory_at_risk(sc.cluster.gpu.memory, risk, sigma);
  const Estimate estimate = estimate_step(sc, calibration);
  RC_ASSERT((estimate.peak().device <= most) == (estimate.out_of_memory_probability <= risk));
  // To the last bit.
  RC_ASSERT(out_of_memory_probability(most, sc.cluster.gpu.memory, sigma) <= risk);
  const Bytes next{std::nextafter(most.value(), std::numeric_limits<double>::infinity())};
  RC_ASSERT(out_of_memory_probability(next, sc.cluster.gpu.memory, sigma) > risk);
}

TEST(memory_laws, risks_by_hand) {
  // 5 % of a normal distribution lie beyond 1.6449 standard deviations.
  const Bytes capacity{80e9};
  EXPECT_NEAR(most_memory_at_risk(capacity, 0.05, 0.12).value(), 80e9 * std::exp(-1.644854 * 0.12), 1e4);
  EXPECT_DOUBLE_EQ(most_memory_at_risk(capacity, 0.5, 0.12).value(), 80e9);
  EXPECT_DOUBLE_EQ(most_memory_at_risk(capacity, 0.05, 0).value(), 80e9);
  EXPECT_TRUE(std::isinf(most_memory_at_risk(capacity, 1, 0.12).value()));
  EXPECT_EQ(out_of_memory_probability(capacity, capacity, 0), 0);
  EXPECT_DOUBLE_EQ(out_of_memory_probability(capacity, capacity, 0.12), 0.5);
}

RC_GTEST_PROP(memory_laws, one_replica_gains_nothing_from_zero_1, ()) {
  const Scenario s = accepted_with(*support::any_scenario(), [](Scenario& x) {
    x.layout = Layout{.dp = 1, .tp = x.layout.tp, .pp = x.layout.pp, .sp = x.layout.sp};
    x.cluster = support::random_cluster(x.layout.world_size());
    x.recipe.global_batch = x.recipe.micro_batch * 4;
  });
  Scenario sharded = s;
  sharded.layout.sharding.stage = 1;
  RC_PRE(!first_rejection(sharded).has_value());
  for (int stage = 0; stage < s.layout.pp; ++stage) RC_ASSERT(states(s, stage) == states(sharded, stage));
}

}  // namespace
}  // namespace hexaplan::costmodel
