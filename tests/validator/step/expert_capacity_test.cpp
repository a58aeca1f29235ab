// Experts with a capacity under every technique: what is dropped and what is padded takes the bytes at every
// instant, messages and FLOPs that were predicted, and trains as one rank does that drops the same tokens and
// pads nothing. Which tokens are dropped is held against PyTorch in golden_step_test.cpp.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::GradientReduction;
using costmodel::Layout;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;

using Change = void (*)(Scenario&);

void shared_experts(Scenario& sc) {
  sc.model.moe.shared_ffn = 12;
}
void two_sequences(Scenario& sc) {
  sc.recipe.micro_batch = 2;
}
template <RecomputeMode kMode>
void recomputed(Scenario& sc) {
  sc.recipe.recompute = {.mode = kMode, .layers = 1};
}
template <std::uint16_t kModules>
void modules_recomputed(Scenario& sc) {
  sc.recipe.recompute = {.mode = RecomputeMode::SelectiveModules, .modules = kModules};
}
void renormalised_sigmoid(Scenario& sc) {
  sc.model.moe.score = costmodel::RouterScore::Sigmoid;
  sc.model.moe.renormalise = true;
  sc.model.moe.balance_coefficient = 0.05;
}

struct Case {
  std::string name;
  Layout layout;
  costmodel::MoeRouting routing;
  std::vector<Change> changes{};
  [[nodiscard]] Scenario scenario() const {
    Scenario sc = tiny_scenario(layout);
    sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8};
    sc.recipe.routing = routing;
    for (const Change change : changes) change(sc);
    return sc;
  }
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

/// Every case with half of the copies dropped, a quarter, half with padding, and with padding alone.
std::vector<Case> cases() {
  struct Named {
    std::string name;
    Layout layout;
    std::vector<Change> changes{};
  };
  const std::vector<Named> all{
      {"one_rank", {}, {shared_experts}},
      {"dp2_two_sequences", {.dp = 2}, {two_sequences}},
      {"ep2", {.dp = 2, .ep = 2}, {two_sequences, renormalised_sigmoid}},
      {"ep4", {.dp = 4, .ep = 4}, {shared_experts}},
      {"tp2_etp2", {.tp = 2, .sp = true}, {}},
      {"tp2_ep2_etp1", {.tp = 2, .ep = 2, .etp = 1, .sp = true}, {shared_experts}},
      {"tp2_ep2_etp2", {.dp = 2, .tp = 2, .ep = 2, .etp = 2, .sp = true}, {two_sequences}},
      {"cp2_ring", {.cp = 2, .ep = 2}, {}},
      {"cp2_tp2_gathered",
       {.tp = 2, .cp = 2, .ep = 2, .sp = true, .context = costmodel::ContextKind::AllGather},
       {renormalised_sigmoid}},
      {"cp2_heads_exchanged", {.cp = 2, .context = costmodel::ContextKind::AllToAll}, {two_sequences}},
      {"pp2_zb_h1", {.dp = 2, .pp = 2, .ep = 2, .schedule = ScheduleKind::ZbH1}, {}},
      {"zb_v_zero2",
       {.dp = 2, .pp = 2, .ep = 2, .sharding = {.stage = 2}, .schedule = ScheduleKind::Zbv},
       {}},
      {"zero1", {.dp = 2, .ep = 2, .sharding = {.stage = 1}}, {}},
      {"zero3_recomputed", {.dp = 2, .ep = 2, .sharding = {.stage = 3}}, {recomputed<RecomputeMode::Full>}},
      {"recomputed_tp2_etp2", {.tp = 2, .sp = true}, {shared_experts, recomputed<RecomputeMode::Full>}},
      {"recomputed_by_operator", {.dp = 2, .ep = 2}, {recomputed<RecomputeMode::SelectiveOperators>}},
      {"experts_recomputed",
       {.dp = 2, .tp = 2, .ep = 2, .sp = true},
       {modules_recomputed<costmodel::kRecomputeMoe>}},
      {"activations_recomputed",
       {.dp = 2, .ep = 2},
       {modules_recomputed<costmodel::kRecomputeMoeActivation>}},
  };
  const std::pair<const char*, costmodel::MoeRouting> routings[] = {
      {"half_dropped", {.capacity_factor = 0.5}},
      {"some_dropped", {.capacity_factor = 0.75}},
      {"dropped_and_padded", {.capacity_factor = 0.5, .pad_to_capacity = true}},
      {"padded", {.capacity_factor = 1.5, .pad_to_capacity = true}}};
  std::vector<Case> out;
  for (const Named& named : all) {
    for (const auto& [word, routing] : routings)
      out.push_back({named.name + "_" + word, named.layout, routing, named.changes});
  }
  return out;
}

class ExpertCapacity : public testing::TestWithParam<Case> {};

TEST_P(ExpertCapacity, is_what_was_predicted_and_that_of_one_rank) {
  expect_what_was_predicted(GetParam().scenario());
}

INSTANTIATE_TEST_SUITE_P(validator, ExpertCapacity, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& which) { return which.param.name; });

double loss_of(const Scenario& sc) {
  return run_tiny(sc, 1).report.steps.at(0).loss;
}

TEST(ExpertCapacityLoss, tokens_that_are_dropped_are_missed_and_padding_is_not) {
  const auto with = [](costmodel::MoeRouting routing) {
    return loss_of(Case{"", {.dp = 2, .ep = 2}, routing}.scenario());
  };
  const double dropless = with({}), dropped = with({.capacity_factor = 0.5});
  EXPECT_NE(dropped, dropless);
  EXPECT_EQ(with({.capacity_factor = 0.5, .pad_to_capacity = true}), dropped);
  // Two experts of four for each token: a capacity of twice the mean takes all of them.
  EXPECT_EQ(with({.capacity_factor = 2}), dropless);
  EXPECT_EQ(with({.capacity_factor = 2, .pad_to_capacity = true}), dropless);
}

}  // namespace
}  // namespace hexaplan::tests
