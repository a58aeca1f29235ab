// Optimizer states, parameters and activations on the host, whole, by a share and by layers: loss, gradients
// and parameters are those of the same ranks without offloading, bit for bit; what the host holds at every
// instant and what crosses its link is what was predicted.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "costmodel/step/estimate.h"
#include "costmodel/step/step_counts.h"
#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::kOffloadActivations;
using costmodel::kOffloadOptimizer;
using costmodel::kOffloadParameters;
using costmodel::Layout;
using costmodel::Scenario;

struct Place {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
};
void tie(Scenario& sc) {
  sc.model.tied_embeddings = true;
}
void experts(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12, .first_k_dense = 1};
}
void fp16(Scenario& sc) {
  sc.recipe.precision = costmodel::Precision::Fp16;
}
void fp32_full_recompute(Scenario& sc) {
  sc.recipe.precision = costmodel::Precision::Fp32;
  sc.recipe.recompute.mode = costmodel::RecomputeMode::Full;
}
void lora(Scenario& sc) {
  sc.recipe.fine_tune = costmodel::FineTune::Lora;
  sc.recipe.lora_rank = 2;
}

const std::vector<Place>& places() {
  static const std::vector<Place> kPlaces{
      {"one_rank_zero3", {.sharding = {.stage = 3}}},
      {"zero3_dp2_tp2_sp", {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 3}}},
      {"zero3_hybrid_fp32_recomputed", {.dp = 4, .sharding = {.stage = 3, .group = 2}}, fp32_full_recompute},
      {"zero3_pp2_interleaved",
       {.dp = 2, .pp = 2, .vpp = 2, .sharding = {.stage = 3}},
       [](Scenario& sc) { sc.layout.schedule = costmodel::ScheduleKind::Interleaved; }},
      {"zero3_tied_fp16",
       {.dp = 3, .sharding = {.stage = 3}},
       [](Scenario& sc) {
         fp16(sc);
         tie(sc);
         sc.recipe.global_batch = 6;
       }},
      {"zero3_zb_h1",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}},
       [](Scenario& sc) { sc.layout.schedule = costmodel::ScheduleKind::ZbH1; }},
      {"zero3_experts_ep2", {.dp = 2, .ep = 2, .sharding = {.stage = 3}}, experts},
      {"zero3_lora", {.dp = 2, .sharding = {.stage = 3}}, lora}};
  return kPlaces;
}

struct Offload {
  std::string name;
  int what = 0;
  double share = 1;
  int layers = 0;
  bool on_disk = false;
};
const std::vector<Offload>& offloads() {
  constexpr int kAll = kOffloadOptimizer | kOffloadParameters | kOffloadActivations;
  static const std::vector<Offload> kOffloads{{"optimizer", kOffloadOptimizer},
                                              {"share_of_the_optimizer", kOffloadOptimizer, 0.4},
                                              {"parameters", kOffloadParameters},
                                              {"activations", kOffloadActivations},
                                              {"activations_of_one_layer", kOffloadActivations, 1, 1},
                                              {"everything", kAll},
                                              {"everything_states_on_disks", kAll, 0.7, 1, true}};
  return kOffloads;
}

struct Case {
  Offload offload;
  Place place;
  [[nodiscard]] Scenario without() const {
    Scenario sc = tiny_scenario(place.layout);
    place.change(sc);
    return sc;
  }
  [[nodiscard]] Scenario scenario() const {
    Scenario sc = without();
    sc.recipe.offload = static_cast<std::uint8_t>(offload.what);
    sc.recipe.offload_fraction = offload.share;
    sc.recipe.offload_layers = offload.layers;
    if (offload.on_disk) sc.recipe.offload_device = costmodel::OffloadDevice::Nvme;
    return sc;
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.offload.name << " of " << c.place.name;
}

class OffloadStep : public testing::TestWithParam<Case> {};

TEST_P(OffloadStep, is_what_was_predicted_and_that_of_one_rank) {
  expect_what_was_predicted(GetParam().scenario());
}

/// The norm is added up in two places where the host has a share of sharded gradients, or those of dense
/// parameters beside experts that one rank holds whole. That rounds otherwise, and what is clipped differs by
/// as much.
TEST_P(OffloadStep, comes_to_the_bits_of_the_step_without_it) {
  const Case& c = GetParam();
  const TinyRun with = run_tiny(c.scenario(), 3), without = run_tiny(c.without(), 3);
  const bool added_up_apart =
      c.offload.share < 1 || ((c.offload.what & kOffloadOptimizer) != 0 && c.without().model.is_moe());
  const double bound = added_up_apart ? 1e-14 : 0;
  ASSERT_EQ(with.report.steps.size(), without.report.steps.size());
  for (std::size_t i = 0; i < with.report.steps.size(); ++i) {
    const validator::StepReport &a = with.report.steps[i], &b = without.report.steps[i];
    EXPECT_NEAR(a.loss, b.loss, bound * b.loss);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, bound * b.gradient_norm);
  }
  EXPECT_LE(validator::largest_difference(with.parameters, without.parameters).relative, bound);
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const Place& place : places()) {
    for (const Offload& offload : offloads()) out.push_back({offload, place});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(validator, OffloadStep, testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<Case>& which) {
                           return which.param.offload.name + "_of_" + which.param.place.name;
                         });

Scenario offloaded(int what, const Layout& layout) {
  Scenario sc = tiny_scenario(layout);
  sc.recipe.offload = static_cast<std::uint8_t>(what);
  return sc;
}

double host_bytes(const TinyRun& run) {
  return static_cast<double>(run.report.ranks.front().offloaded.memory.peak_bytes);
}

/// 6,894 parameters. bf16 under the profile: an fp32 master, two fp32 moments, and the fp32 gradient that the
/// CPU reads: 16 bytes each.
TEST(Offload, states_of_one_rank_are_counted_by_hand) {
  const Scenario sc = offloaded(kOffloadOptimizer, {});
  const TinyRun run = run_tiny(sc, 1);
  const double parameters = costmodel::estimate_step(sc, {}).parameters;
  EXPECT_EQ(host_bytes(run), 16 * parameters);
  double to_host = 0, to_device = 0;
  for (const validator::CopyReport& copy : run.report.ranks.front().offloaded.copies)
    (copy.operation == "gradient.to_host" ? to_host : to_device) += copy.bytes.value();
  EXPECT_EQ(to_host, 4 * parameters);    // fp32 gradients
  EXPECT_EQ(to_device, 2 * parameters);  // bf16 parameters
}

/// Offloaded at ZeRO-3, a rank of four keeps the gathered layer and nothing else of its parameters.
TEST(Offload, devices_hold_no_states) {
  const TinyRun run =
      run_tiny(offloaded(kOffloadOptimizer | kOffloadParameters, {.dp = 4, .sharding = {.stage = 3}}), 1);
  for (const validator::RankReport& rank : run.report.ranks) {
    for (const costmodel::TensorKind kind :
         {costmodel::TensorKind::Parameter, costmodel::TensorKind::Gradient,
          costmodel::TensorKind::OptimizerState})
      EXPECT_EQ(rank.memory.peak_by_kind[static_cast<std::size_t>(kind)], 0);
    EXPECT_GT(rank.offloaded.memory.peak_bytes, 0);
  }
}

TEST(Offload, optimizers_that_look_at_more_than_a_parameter_are_refused) {
  for (const costmodel::Optimizer optimizer :
       {costmodel::Optimizer::AdamW8bit, costmodel::Optimizer::Muon, costmodel::Optimizer::Lamb}) {
    Scenario sc = offloaded(kOffloadOptimizer, {});
    sc.recipe.optimizer = optimizer;
    const auto rejected = validator::first_not_executable(sc);
    ASSERT_TRUE(rejected.has_value());
    EXPECT_EQ(rejected->rule, "executor-offload");
  }
}

}  // namespace
}  // namespace hexaplan::tests
