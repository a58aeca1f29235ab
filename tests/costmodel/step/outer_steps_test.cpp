// What outer steps of replicas that train apart keep, send and take, counted by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "costmodel/memory/outer_states.h"
#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/outer_operations.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// The example on two sites of eight GPUs.
Scenario apart(std::int64_t every = 100) {
  Scenario sc = example_scenario();
  sc.framework.abilities.outer_steps = true;
  sc.layout.outer_replicas = 2;
  sc.layout.dp = 2;
  sc.recipe.outer.every = every;
  return sc;
}
/// The same GPUs as one replica.
Scenario together() {
  Scenario sc = example_scenario();
  sc.framework.abilities.outer_steps = true;
  return sc;
}

/// One of the replicas by itself.
Scenario alone() {
  Scenario sc = apart();
  sc.recipe.outer = {};
  sc.layout.outer_replicas = 1;
  sc.cluster.gpus /= 2, sc.recipe.global_batch /= 2;
  return sc;
}

/// Parameters of a stage on one rank, of Llama-3-8B over tp2 pp2.
constexpr double kOfStage = (16 * (4096.0 * (4096 + 2048 + 4096) + 3 * 4096.0 * 14336) + 4096.0 * 128256) / 2;
constexpr double kNorms = 16.0 * 2 * 4096;

double optimizer_bytes(const Scenario& sc, std::size_t stage) {
  return estimate_step(sc, {}).stages.at(stage).on_device().optimizer.value();
}

TEST(outer_steps, keep_the_parameters_and_a_momentum_cut_as_states_are) {
  for (const int zero : {0, 1}) {
    Scenario sc = apart(), none = alone();
    sc.layout.sharding.stage = none.layout.sharding.stage = zero;
    const double cut = zero == 0 ? 1 : 2;
    EXPECT_NEAR(optimizer_bytes(sc, 0) - optimizer_bytes(none, 0), (kOfStage + kNorms) * 8 / cut, 1);
    sc.recipe.outer.states = OuterStates::CopyOnHost;
    EXPECT_NEAR(optimizer_bytes(sc, 0) - optimizer_bytes(none, 0), (kOfStage + kNorms) * 4 / cut, 1);
    EXPECT_NEAR(estimate_step(sc, {}).stages[0].host.value(), (kOfStage + kNorms) * 4 / cut, 1);
    sc.recipe.outer.states = OuterStates::Host;
    EXPECT_DOUBLE_EQ(optimizer_bytes(sc, 0), optimizer_bytes(none, 0));
    EXPECT_NEAR(estimate_step(sc, {}).stages[0].host.value(), (kOfStage + kNorms) * 8 / cut, 1);
  }
}

TEST(outer_steps, need_their_gradient_and_what_travels_while_they_are_taken) {
  EXPECT_EQ(outer_transient_bytes({}, true), 0);
  EXPECT_EQ(outer_transient_bytes({.every = 2}, true), 4);
  EXPECT_EQ(outer_transient_bytes({.every = 2, .dtype = DType::Bf16}, true), 6);
  EXPECT_EQ(outer_transient_bytes({.every = 2, .dtype = DType::Bf16}, false), 4);
  EXPECT_EQ(outer_transient_bytes({.every = 2, .dtype = DType::Fp4}, true), 5);  // sent and received
  EXPECT_EQ(outer_transient_bytes({.every = 2, .states = OuterStates::Host}, true), 12);
}

double sent(const Scenario& sc, std::string_view name) {
  double bytes = 0;
  for (const Operation& op : step_operations(sc, 0)) {
    if (op.name == name && op.kind == OpKind::Collective) bytes += op.payload.value() * op.count;
  }
  return bytes;
}

TEST(outer_steps, send_a_shard_of_the_parameters_once_in_so_many_steps) {
  for (const auto& [dtype, bytes] :
       {std::pair{DType::Fp32, 4.0}, {DType::Bf16, 2.0}, {DType::Fp8, 2 * 1.0}}) {
    Scenario sc = apart(500);
    sc.recipe.outer.dtype = dtype;
    EXPECT_NEAR(sent(sc, "outer.gradient_reduce"), (kOfStage + kNorms) / 2 * bytes / 500, 1)
        << name_of(dtype);
  }
}

TEST(outer_steps, leave_gradients_to_each_replica) {
  const Scenario sc = apart();
  EXPECT_EQ(group_size(sc.layout, Group::DataContext), 2);
  EXPECT_EQ(group_size(sc.layout, Group::World), 8);
  EXPECT_EQ(group_size(sc.layout, Group::Outer), 2);
  EXPECT_EQ(members_of(sc.layout, Group::Outer, 13), (std::vector<std::int64_t>{5, 13}));  // tp2, dp2, pp2
  EXPECT_EQ(members_of(sc.layout, Group::DataContext, 13), (std::vector<std::int64_t>{13, 15}));
  EXPECT_EQ(microbatches_per_step(sc), microbatches_per_step(together()));
  EXPECT_EQ(sent(sc, "gradient.reduce"), sent(together(), "gradient.reduce"));
}

TEST(outer_steps, take_a_share_of_their_time_in_every_step) {
  const auto time = [](std::int64_t every) { return estimate_step(apart(every), {}).time; };
  const OuterStep once = outer_step(apart(), {}).value();
  EXPECT_GT(once.messages, Seconds{});
  EXPECT_GT(once.update, Seconds{});
  for (const std::int64_t every : {2, 10, 1000}) {
    const StepTime here = time(every), rare = time(1'000'000'000);
    const auto times = static_cast<double>(every);
    EXPECT_NEAR((here.data_parallel - rare.data_parallel).value() * times, once.messages.value(),
                1e-5 * once.messages.value());
    EXPECT_NEAR((here.optimizer - rare.optimizer).value() * times, once.update.value(),
                1e-5 * once.update.value());
  }
}

TEST(outer_steps, are_simulated_as_they_are_estimated) {
  const auto difference = [](const auto& total) {
    return (total(apart(2)) - total(apart(1'000'000'000))).value();
  };
  const double estimated = difference([](const Scenario& s) { return estimate_step(s, {}).time.total(); });
  const double simulated = difference([](const Scenario& s) { return simulate_step(s, {}).total; });
  EXPECT_NEAR(simulated, estimated, 1e-9 * estimated + 1e-12);
}

/// Over a thin link between sites the step falls towards that of a replica alone as outer steps become rare.
TEST(outer_steps, make_a_thin_link_cheap) {
  const auto step = [](Scenario sc) {
    sc.cluster.levels.back().bandwidth = BytesPerSecond{0.1e9};
    return estimate_step(sc, {}).time.total().value();
  };
  double before = step(together());
  // Behind every second step fp32 parameters take longer than every step's reduced gradients.
  EXPECT_GT(step(apart(2)), before);
  for (const std::int64_t every : {10, 50, 250, 1000}) {
    const double now = step(apart(every));
    EXPECT_LT(now, before) << every;
    EXPECT_GT(now, step(alone())) << every;
    before = now;
  }
  EXPECT_LT(before, 1.03 * step(alone()));
  EXPECT_GT(step(together()), 4 * before);
}

TEST(outer_steps, of_one_replica_send_nothing) {
  Scenario sc = together();
  sc.recipe.outer.every = 10;
  EXPECT_FALSE(first_rejection(sc));
  EXPECT_EQ(sent(sc, "outer.gradient_reduce"), 0);
  EXPECT_GT(estimate_step(sc, {}).time.optimizer, estimate_step(together(), {}).time.optimizer);
}

struct Gate {
  std::string_view rule;
  void (*change)(Scenario&);
};
TEST(outer_steps, are_refused_where_they_mean_nothing_or_cannot_be_taken) {
  ASSERT_FALSE(first_rejection(apart()));
  constexpr Gate kGates[] = {
      {"outer-steps-are-said", [](Scenario& s) { s.recipe.outer = {}; }},
      {"outer-steps-are-said", [](Scenario& s) { s.recipe.outer.every = 1; }},
      {"outer-steps-are-said",
       [](Scenario& s) {
         s.layout.outer_replicas = 1, s.layout.dp = 4;
         s.recipe.outer = {.states = OuterStates::Host};
       }},
      {"outer-steps-are-said",
       [](Scenario& s) {
         s.layout.outer_replicas = 1, s.layout.dp = 4;
         s.recipe.outer.dtype = DType::Bf16;
       }},
      {"outer-steps-can-be-taken", [](Scenario& s) { s.framework.abilities.outer_steps = false; }},
      {"outer-steps-can-be-taken",
       [](Scenario& s) { s.recipe.optimizer_in_backward = true, s.recipe.global_batch = 4; }},
      {"outer-steps-can-be-taken", [](Scenario& s) { s.recipe.offload = kOffloadOptimizer; }},
      {"fills-the-cluster", [](Scenario& s) { s.layout.outer_replicas = 4; }},
      {"batch-divides", [](Scenario& s) { s.recipe.global_batch = 66; }},
      {"shard-group-divides", [](Scenario& s) { s.layout.sharding.group = 4; }},  // not over replicas
  };
  for (const Gate& gate : kGates) {
    Scenario sc = apart();
    gate.change(sc);
    const auto rejected = first_rejection(sc);
    ASSERT_TRUE(rejected.has_value()) << gate.rule;
    EXPECT_EQ(rejected->rule, gate.rule) << rejected->reason;
  }
  Scenario two = apart(2);
  EXPECT_FALSE(first_rejection(two));
}

}  // namespace
}  // namespace hexaplan::costmodel
