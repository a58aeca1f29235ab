// Multi-token prediction under every technique: bytes by kind at every instant, messages and FLOPs are what
// was predicted, loss and updated parameters those of one rank. What a module computes is held against
// PyTorch in golden_step_test.cpp.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "costmodel/spec/rules.h"
#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::GradientReduction;
using costmodel::Layout;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;

using Change = void (*)(Scenario&);

void tie(Scenario& sc) {
  sc.model.tied_embeddings = true;
}
void two_modules(Scenario& sc) {
  sc.model.mtp_layers = 2;
}
void experts(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12};
}
void latent(Scenario& sc) {
  costmodel::AttentionSpec& a = sc.model.attention;
  a = {.kind = costmodel::AttentionKind::Latent, .heads = 8, .kv_heads = 8};
  a.q_lora_rank = 10, a.kv_lora_rank = 6, a.qk_nope_dim = 4, a.qk_rope_dim = 2;
  a.head_dim = 6, a.v_head_dim = 4;
}
template <RecomputeMode kMode>
void recomputed(Scenario& sc) {
  sc.recipe.recompute = {.mode = kMode, .layers = 3};
}
template <GradientReduction kReduction>
void reduced(Scenario& sc) {
  sc.recipe.execution.reduction = kReduction;
}
template <std::uint8_t kWhat>
void offloaded(Scenario& sc) {
  sc.recipe.offload = kWhat;
}
void in_backward(Scenario& sc) {
  sc.recipe.optimizer_in_backward = true;
  sc.recipe.global_batch = sc.recipe.micro_batch * sc.layout.dp;
}
void chunked_loss(Scenario& sc) {
  sc.recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
}

struct Case {
  std::string name;
  Layout layout;
  std::vector<Change> changes{};
  [[nodiscard]] Scenario scenario() const {
    Scenario sc = tiny_scenario(layout);
    sc.model.mtp_layers = 1;
    for (const Change change : changes) change(sc);
    return sc;
  }
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

std::vector<Case> axes() {
  return {{"one_rank", {}},
          {"one_rank_two_modules_tied", {}, {two_modules, tie}},
          {"dp2", {.dp = 2}, {two_modules}},
          {"tp2", {.tp = 2}, {two_modules}},
          {"tp4_sp_tied", {.tp = 4, .sp = true}, {two_modules, tie}},
          {"cp2_ring", {.cp = 2}, {two_modules}},
          {"cp2_gathered_tp2", {.tp = 2, .cp = 2, .context = costmodel::ContextKind::AllGather}},
          {"cp2_heads_exchanged", {.cp = 2, .context = costmodel::ContextKind::AllToAll}},
          {"pp2", {.pp = 2}, {two_modules}},
          {"pp2_tied", {.pp = 2}, {two_modules, tie}},
          {"pp4_gpipe_tp2_sp", {.tp = 2, .pp = 4, .sp = true, .schedule = ScheduleKind::GPipe}},
          {"pp2_interleaved_tied",
           {.pp = 2, .vpp = 2, .schedule = ScheduleKind::Interleaved},
           {two_modules, tie}},
          {"zb_h1_tp2_sp", {.tp = 2, .pp = 2, .sp = true, .schedule = ScheduleKind::ZbH1}, {two_modules}},
          {"zb_2p_zero3_tied",
           {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = ScheduleKind::Zb2p},
           {two_modules, tie}},
          {"zb_v", {.pp = 2, .schedule = ScheduleKind::Zbv}, {two_modules}},
          {"dualpipe_recomputed",
           {.dp = 2, .pp = 2, .sharding = {.stage = 1}, .schedule = ScheduleKind::DualPipe},
           {two_modules, recomputed<RecomputeMode::Layers>}},
          {"dualpipe_zero3_tied",
           {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = ScheduleKind::DualPipe},
           {tie}},
          {"zb_v_tied_zero2",
           {.dp = 2, .pp = 2, .sharding = {.stage = 2}, .schedule = ScheduleKind::Zbv},
           {tie}}};
}

std::vector<Case> sharded() {
  return {
      {"zero1_tp2", {.dp = 2, .tp = 2, .sharding = {.stage = 1}}},
      {"zero2_tied", {.dp = 2, .sharding = {.stage = 2}}, {two_modules, tie}},
      {"zero3", {.dp = 2, .sharding = {.stage = 3}}, {two_modules}},
      {"zero3_pp2_hybrid", {.dp = 4, .pp = 2, .sharding = {.stage = 3, .group = 2}}, {two_modules}},
      {"zero3_once", {.dp = 2, .sharding = {.stage = 3}}, {two_modules, reduced<GradientReduction::Once>}},
      {"zero3_once_tied",
       {.dp = 2, .sharding = {.stage = 3}},
       {two_modules, tie, reduced<GradientReduction::Once>}},
      {"zero3_once_pp2",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}},
       {two_modules, reduced<GradientReduction::Once>}},
      {"zero3_once_pp2_tied_zb_h1",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = ScheduleKind::ZbH1},
       {two_modules, tie, reduced<GradientReduction::Once>}},
      {"zero3_full_recompute",
       {.dp = 2, .sharding = {.stage = 3}},
       {two_modules, recomputed<RecomputeMode::Full>}},
      {"zero3_pp2_full_recompute_tied",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}},
       {two_modules, tie, recomputed<RecomputeMode::Full>}}};
}

std::vector<Case> with_techniques() {
  return {
      {"full_recompute_tp2_sp", {.tp = 2, .sp = true}, {recomputed<RecomputeMode::Full>}},
      {"full_recompute_zb_h1",
       {.tp = 2, .pp = 2, .schedule = ScheduleKind::ZbH1},
       {two_modules, recomputed<RecomputeMode::Full>}},
      {"selective_recompute", {.tp = 2}, {recomputed<RecomputeMode::Selective>}},
      {"some_layers_recomputed_pp2", {.pp = 2}, {two_modules, recomputed<RecomputeMode::Layers>}},
      {"experts_ep2", {.dp = 2, .ep = 2}, {two_modules, experts}},
      {"experts_ep2_tp2_pp2_zero2",
       {.dp = 2, .tp = 2, .pp = 2, .ep = 2, .sp = true, .sharding = {.stage = 2}},
       {experts}},
      {"experts_etp2_zero3_recomputed",
       {.dp = 2, .tp = 2, .ep = 2, .etp = 2, .sp = true, .sharding = {.stage = 3}},
       {experts, recomputed<RecomputeMode::Full>}},
      {"latent_experts_pp2", {.dp = 2, .pp = 2, .ep = 2}, {experts, latent, two_modules}},
      {"in_backward_zero3_tied", {.dp = 2, .sharding = {.stage = 3}}, {two_modules, tie, in_backward}},
      {"in_backward", {.dp = 2}, {two_modules, in_backward}},
      {"chunked_loss_tp2", {.tp = 2}, {two_modules, chunked_loss}},
      {"offloaded_activations", {.dp = 2}, {two_modules, offloaded<costmodel::kOffloadActivations>}},
      {"offloaded_states_pp2",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}},
       {offloaded<costmodel::kOffloadParameters>}},
      {"quantised_gathers_zero3",
       {.dp = 2, .sharding = {.stage = 3, .quantized_weights = true}},
       {two_modules, recomputed<RecomputeMode::Full>}},
      {"quantised_gradients_zero3",
       {.dp = 2, .sharding = {.stage = 3, .quantized_gradients = true}},
       {two_modules, tie}},
      {"muon_tp1_zero1", {.dp = 2, .sharding = {.stage = 1}}, {[](Scenario& sc) {
         sc.recipe.optimizer = costmodel::Optimizer::Muon;
       }}},
      {"lamb_tp2", {.tp = 2}, {[](Scenario& sc) { sc.recipe.optimizer = costmodel::Optimizer::Lamb; }}},
      {"dropout_cp1_tp2_sp", {.tp = 2, .sp = true}, {[](Scenario& sc) { sc.recipe.dropout = 0.25; }}},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all = axes();
  for (const auto& more : {sharded(), with_techniques()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

class MultiTokenPrediction : public testing::TestWithParam<Case> {};

TEST_P(MultiTokenPrediction, is_what_was_predicted_and_that_of_one_rank) {
  expect_what_was_predicted(GetParam().scenario());
}

INSTANTIATE_TEST_SUITE_P(validator, MultiTokenPrediction, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& which) { return which.param.name; });

TEST(MultiTokenPredictionRules, what_is_not_executed_is_refused_with_a_reason) {
  struct Refused {
    const char* why;
    Layout layout;
    Change change;
  };
  const Refused refused[] = {
      {"a table of positions",
       {},
       [](Scenario& sc) {
         sc.model.positions = costmodel::PositionKind::Learned;
         sc.model.max_positions = 64;
       }},
      {"a hidden size that tp does not divide", {.tp = 3}, [](Scenario& sc) { sc.model.hidden = 16; }},
      {"sequences as short as the modules look ahead", {}, [](Scenario& sc) { sc.recipe.sequence = 1; }},
      {"adapters", {}, [](Scenario& sc) { sc.recipe.fine_tune = costmodel::FineTune::Lora; }},
      {"a second copy of parameters", {.dp = 4, .sharding = {.stage = 3, .hpz = 2}}, [](Scenario&) {}},
      {"inputs cut over tp", {.tp = 2, .partition_activations = true}, recomputed<RecomputeMode::Full>},
  };
  for (const Refused& c : refused) {
    Scenario sc = Case{"refused", c.layout}.scenario();
    c.change(sc);
    const auto rejected = validator::first_not_executable(sc);
    ASSERT_TRUE(rejected.has_value()) << c.why;
    EXPECT_EQ(rejected->rule, "executor-mtp") << c.why;
    sc.model.mtp_layers = 0;
    EXPECT_EQ(validator::first_not_executable(sc), std::nullopt) << c.why;
  }
}

}  // namespace
}  // namespace hexaplan::tests
