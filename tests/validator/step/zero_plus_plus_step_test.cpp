// ZeRO-R (arXiv:1910.02054): inputs of recomputed layers that tensor-parallel ranks cut among them.
// ZeRO++ (arXiv:2306.10209): a second copy of the parameters that neighbours cut among them (hpZ) is what
// backward gathers, and changes no number. Quantised messages: quantised_messages_test.cpp.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Scenario;

struct Case {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
  [[nodiscard]] Scenario scenario() const {
    Scenario sc = tiny_scenario(layout);
    sc.layout.sharding.stage = 3;
    change(sc);
    return sc;
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}
void recompute(Scenario& sc) {
  sc.recipe.recompute.mode = costmodel::RecomputeMode::Full;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"hpz2_dp4", {.dp = 4, .sharding = {.hpz = 2}}},
      {"hpz4_dp4_recomputed", {.dp = 4, .sharding = {.hpz = 4}}, recompute},
      {"hpz2_dp4_tp2_sp", {.dp = 4, .tp = 2, .sp = true, .sharding = {.hpz = 2}}},
      {"hpz2_dp2_cp2", {.dp = 2, .cp = 2, .sharding = {.hpz = 2}}},
      {"hpz3_hybrid",
       {.dp = 6, .sharding = {.group = 3, .hpz = 3}},
       [](Scenario& sc) { sc.recipe.global_batch = 12; }},
      {"hpz2_zb_h1",
       {.dp = 4, .pp = 2, .sharding = {.hpz = 2}},
       [](Scenario& sc) { sc.layout.schedule = costmodel::ScheduleKind::ZbH1; }},
      {"cut_checkpoints_tp4", {.tp = 4, .partition_activations = true}, recompute},
      {"cut_checkpoints_of_one_layer_offloaded",
       {.dp = 2, .tp = 2, .pp = 2, .sharding = {.hpz = 2}, .partition_activations = true},
       [](Scenario& sc) {
         sc.recipe.recompute = {.mode = costmodel::RecomputeMode::Layers, .layers = 1};
         sc.recipe.offload = costmodel::kOffloadActivations;
       }},
      {"cut_checkpoints_zb_h1",
       {.tp = 2, .pp = 2, .partition_activations = true},
       [](Scenario& sc) {
         recompute(sc);
         sc.layout.schedule = costmodel::ScheduleKind::ZbH1;
       }},
      {"hpz2_offloaded", {.dp = 4, .sharding = {.hpz = 2}}, [](Scenario& sc) {
         sc.recipe.offload = costmodel::kOffloadOptimizer | costmodel::kOffloadParameters;
       }}};
  return kCases;
}

class ZeroPlusPlus : public testing::TestWithParam<Case> {};

TEST_P(ZeroPlusPlus, is_what_was_predicted_and_that_of_one_rank) {
  expect_what_was_predicted(GetParam().scenario());
}

/// Values are copied, never rounded.
TEST_P(ZeroPlusPlus, comes_to_the_bits_of_the_step_without_copies_and_cuts) {
  Scenario without = GetParam().scenario();
  without.layout.sharding.hpz = 0;
  without.layout.partition_activations = false;
  const TinyRun a = run_tiny(GetParam().scenario(), 3), b = run_tiny(without, 3);
  EXPECT_EQ(validator::largest_difference(a.parameters, b.parameters).relative, 0);
  EXPECT_EQ(a.report.steps.back().loss, b.report.steps.back().loss);
}
/// Four layers' inputs of 16 tokens and 16 numbers in bf16, of eight micro-batches under GPipe: a quarter
/// each, and the whole of the one that runs.
TEST(CutCheckpoints, keep_a_part_on_every_rank) {
  const auto kept = [](bool cut) {
    Scenario sc = tiny_scenario(
        {.tp = 4, .pp = 2, .schedule = costmodel::ScheduleKind::GPipe, .partition_activations = cut});
    recompute(sc);
    const TinyRun run = run_tiny(sc, 1);
    const auto& at = run.report.ranks.front().memory.peak_at[costmodel::index_of(costmodel::kForward)];
    return at[static_cast<std::size_t>(costmodel::TensorKind::Activation)];
  };
  constexpr std::int64_t kInput = std::int64_t{16} * 16 * 2, kLayers = 2, kInFlight = 8;
  EXPECT_EQ(kept(false), kInput * kLayers * kInFlight);
  EXPECT_LE(kept(true), kInput * kLayers * kInFlight / 4 + kInput);
}

INSTANTIATE_TEST_SUITE_P(validator, ZeroPlusPlus, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
