// Updates inside the backward pass: every parameter is updated when its gradient is complete, which is freed
// then. Loss and parameters are those of the same ranks that update at the step's end, bit for bit, where
// nobody clips; bytes at every instant, messages and FLOPs are what was predicted.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "costmodel/spec/rules.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Optimizer;
using costmodel::Scenario;
using costmodel::ScheduleKind;

struct Case {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
  /// One micro-batch a step: that is what can be updated in backward.
  [[nodiscard]] Scenario scenario(bool in_backward = true) const {
    Scenario sc = tiny_scenario(layout);
    sc.recipe.global_batch = sc.recipe.micro_batch * layout.dp;
    change(sc);
    sc.recipe.optimizer_in_backward = in_backward;
    return sc;
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}
void tie(Scenario& sc) {
  sc.model.tied_embeddings = true;
}
void experts(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12};
}
template <Optimizer kOptimizer>
void trained_by(Scenario& sc) {
  sc.recipe.optimizer = kOptimizer;
}
template <Optimizer kOptimizer>
void projected_by(Scenario& sc) {
  sc.recipe.optimizer = kOptimizer;
  sc.recipe.projection_rank = sc.recipe.projection_interval = 2;
}
template <ScheduleKind kSchedule>
void scheduled(Scenario& sc) {
  sc.layout.schedule = kSchedule;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"one_rank", {}},
      {"one_rank_tied", {}, tie},
      {"dp2_tp2_sp", {.dp = 2, .tp = 2, .sp = true}},
      {"zero1", {.dp = 2, .sharding = {.stage = 1}}},
      {"zero2_tied", {.dp = 3, .sharding = {.stage = 2}}, tie},
      {"zero3_tied", {.dp = 2, .sharding = {.stage = 3}}, tie},
      {"zero3_hybrid_offloaded_parameters",
       {.dp = 4, .sharding = {.stage = 3, .group = 2}},
       [](Scenario& sc) { sc.recipe.offload = costmodel::kOffloadParameters; }},
      {"zero1_pp2_interleaved",
       {.dp = 2, .pp = 2, .vpp = 2, .sharding = {.stage = 1}},
       scheduled<ScheduleKind::Interleaved>},
      {"zero2_zb_h1", {.dp = 2, .pp = 2, .sharding = {.stage = 2}}, scheduled<ScheduleKind::ZbH1>},
      {"zb_v_tied",
       {.dp = 2, .pp = 2},
       [](Scenario& sc) {
         tie(sc);
         scheduled<ScheduleKind::Zbv>(sc);
       }},
      {"experts_ep2_zero2", {.dp = 2, .tp = 2, .ep = 2, .sp = true, .sharding = {.stage = 2}}, experts},
      {"muon_zero1", {.dp = 2, .sharding = {.stage = 1}}, trained_by<Optimizer::Muon>},
      {"lamb_zero3", {.dp = 2, .sharding = {.stage = 3}}, trained_by<Optimizer::Lamb>},
      {"adafactor_tp2_zero2", {.dp = 2, .tp = 2, .sharding = {.stage = 2}}, trained_by<Optimizer::Adafactor>},
      {"adamw_8bit", {.dp = 2}, trained_by<Optimizer::AdamW8bit>},
      {"galore_dp2", {.dp = 2}, projected_by<Optimizer::Galore>},
      {"galore_8bit", {}, projected_by<Optimizer::Galore8bit>},
      {"apollo_dp2_pp2", {.dp = 2, .pp = 2}, projected_by<Optimizer::Apollo>},
      {"lora_zero3", {.dp = 2, .sharding = {.stage = 3}}, [](Scenario& sc) {
         sc.recipe.fine_tune = costmodel::FineTune::Lora;
         sc.recipe.lora_rank = 2;
       }}};
  return kCases;
}

class InBackward : public testing::TestWithParam<Case> {};

TEST_P(InBackward, is_what_was_predicted_and_that_of_one_rank) {
  expect_what_was_predicted(GetParam().scenario());
}

validator::GlobalState::Tensors trained(const Scenario& sc, validator::ExecutionReport& report) {
  validator::GlobalState state;
  validator::RunOptions options{.steps = 3, .routing = validator::Routing::InTurn};
  options.optimizer.clip_norm = 0;
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.stepped = [&](const validator::RankView& view) {
    if (view.step == 3) state.add(view, validator::State::Master);
  };
  validator::ThreadRanks ranks;
  report = validator::run_steps(sc, options, ranks);
  return state.tensors();
}

TEST_P(InBackward, comes_to_the_bits_of_updates_at_the_end) {
  validator::ExecutionReport with, without;
  const auto parameters = trained(GetParam().scenario(), with);
  const auto at_the_end = trained(GetParam().scenario(false), without);
  // Both gradients of a tied table are reduced together here, and each for itself from ZeRO-2 on.
  const Scenario sc = GetParam().scenario();
  const double bound = sc.model.tied_embeddings && sc.layout.sharding.stage >= 2 ? 1e-15 : 0;
  EXPECT_LE(validator::largest_difference(parameters, at_the_end).relative, bound);
  for (std::size_t i = 0; i < without.steps.size(); ++i) {
    EXPECT_NEAR(with.steps[i].loss, without.steps[i].loss, bound * without.steps[i].loss);
    // Added up from the last layer on.
    EXPECT_NEAR(with.steps[i].gradient_norm, without.steps[i].gradient_norm, 1e-14);
  }
}
INSTANTIATE_TEST_SUITE_P(validator, InBackward, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& which) { return which.param.name; });

/// Gradients of one layer at a time, instead of all.
TEST(InBackwardMemory, holds_the_gradients_of_one_unit) {
  const Case one{"one", {}};
  validator::ExecutionReport with, without;
  (void)trained(one.scenario(), with);
  (void)trained(one.scenario(false), without);
  constexpr auto kGradient = static_cast<std::size_t>(costmodel::TensorKind::Gradient);
  EXPECT_EQ(with.ranks.front().memory.peak_by_kind[kGradient], 0);
  EXPECT_GT(without.ranks.front().memory.peak_by_kind[kGradient], 0);
  EXPECT_LT(with.ranks.front().memory.peak_bytes, without.ranks.front().memory.peak_bytes);
}

TEST(InBackwardMemory, what_it_cannot_do_is_refused) {
  const auto rule = [](const Scenario& sc) {
    const auto rejected = validator::first_not_executable(sc);
    return rejected ? rejected->rule : std::string{};
  };
  Scenario fp16 = Case{"fp16", {}}.scenario();
  fp16.recipe.precision = costmodel::Precision::Fp16;
  EXPECT_EQ(rule(fp16), "executor-in-backward");
  Scenario tied = Case{"tied", {.pp = 2}, tie}.scenario();
  EXPECT_EQ(rule(tied), "executor-in-backward");
  Scenario offloaded = Case{"offloaded", {}}.scenario();
  offloaded.recipe.offload = costmodel::kOffloadOptimizer;
  EXPECT_EQ(rule(offloaded), "executor-in-backward");
  Scenario accumulated = Case{"accumulated", {}}.scenario();
  accumulated.recipe.global_batch = 2;
  EXPECT_TRUE(costmodel::first_rejection(accumulated).has_value());
}

}  // namespace
}  // namespace hexaplan::tests
