// QLoRA: bytes, messages and FLOPs as predicted, numbers of one rank that computes with the same frozen
// weights in full width. The numbers themselves: proofs/nf4_test.cpp, proofs/adapters_step_test.cpp.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "costmodel/memory/flat_units.h"
#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Scenario;
using costmodel::ScheduleKind;

struct FourBitCase {
  std::string name;
  Layout layout;
  bool double_quantisation = false;
  void (*change)(Scenario&) = [](Scenario& /*sc*/) {};

  [[nodiscard]] Scenario scenario() const {
    Scenario sc = tiny_scenario(layout);
    sc.recipe.fine_tune = costmodel::FineTune::Qlora;
    sc.recipe.lora_rank = 3;
    sc.recipe.double_quantization = double_quantisation;
    change(sc);
    return sc;
  }
};

void recompute(Scenario& sc) {
  sc.recipe.recompute.mode = costmodel::RecomputeMode::Full;
}

const std::vector<FourBitCase>& four_bit_cases() {
  static const std::vector<FourBitCase> kCases{
      {"one_rank", {}},
      {"dp2", {.dp = 2}},
      {"zero2", {.dp = 2, .sharding = {.stage = 2}}},
      {"zero3", {.dp = 4, .sharding = {.stage = 3}}},
      {"zero3_hybrid", {.dp = 4, .sharding = {.stage = 3, .group = 2}}},
      {"zero3_of_three",
       {.dp = 3, .sharding = {.stage = 3}},
       false,
       [](Scenario& sc) { sc.recipe.global_batch = 6; }},
      {"zero3_qwz", {.dp = 2, .sharding = {.stage = 3, .quantized_weights = true}}},
      {"tp2", {.tp = 2}},
      {"tp4_sp_keys_on_two_ranks", {.tp = 4, .sp = true}},
      {"cp2", {.cp = 2}},
      {"zb_h1_recomputed", {.pp = 2, .schedule = ScheduleKind::ZbH1}, false, recompute},
      {"tp2_pp2_zero3_recomputed", {.dp = 2, .tp = 2, .pp = 2, .sharding = {.stage = 3}}, false, recompute},
      {"operators_recomputed",
       {},
       false,
       [](Scenario& sc) { sc.recipe.recompute.mode = costmodel::RecomputeMode::SelectiveOperators; }},
      {"queries_and_values",
       {.dp = 2},
       false,
       [](Scenario& sc) { sc.recipe.lora_targets = costmodel::AdapterTargets::QueryValue; }},
      {"adamw_8bit",
       {.dp = 2, .sharding = {.stage = 1}},
       false,
       [](Scenario& sc) { sc.recipe.optimizer = costmodel::Optimizer::AdamW8bit; }},
      {"optimizer_on_the_host",
       {.dp = 2, .sharding = {.stage = 3}},
       false,
       [](Scenario& sc) { sc.recipe.offload = costmodel::kOffloadOptimizer; }},
      {"latent_attention",
       {.tp = 2},
       false,
       [](Scenario& sc) {
         sc.model.attention = {.kind = costmodel::AttentionKind::Latent, .heads = 8, .kv_heads = 8};
         sc.model.attention.q_lora_rank = 10, sc.model.attention.kv_lora_rank = 6;
         sc.model.attention.qk_nope_dim = 4, sc.model.attention.qk_rope_dim = 2;
         sc.model.attention.head_dim = 6, sc.model.attention.v_head_dim = 4;
       }},
      {"double_one_rank", {}, true},
      {"double_dp2_recomputed", {.dp = 2}, true, recompute},
      {"double_tp2_pp2_zero2", {.dp = 2, .tp = 2, .pp = 2, .sharding = {.stage = 2}}, true}};
  return kCases;
}

class WeightsIn4Bits : public testing::TestWithParam<FourBitCase> {};

TEST_P(WeightsIn4Bits, are_what_was_predicted) {
  expect_what_was_predicted(GetParam().scenario());
}
INSTANTIATE_TEST_SUITE_P(validator, WeightsIn4Bits, testing::ValuesIn(four_bit_cases()),
                         [](const testing::TestParamInfo<FourBitCase>& which) { return which.param.name; });

/// By hand: a layer has 512 + 256 + 512 numbers of attention and 768 + 384 of its MLP, all whole blocks of
/// 64; with scales in 8 bits each of the five begins one of 16,384.
TEST(weights_in_4_bits, take_half_a_byte_and_their_scales) {
  const auto bytes_of_layer = [](const FourBitCase& which) {
    const Scenario sc = which.scenario();
    for (const costmodel::FlatSizes& flat : costmodel::layer_unit(sc, {}).flats)
      if (flat.in_4_bits) return parameter_bytes(sc, flat, flat.stage >= 3 ? flat.shard() : flat.padded());
    return 0.0;
  };
  EXPECT_EQ(bytes_of_layer({"", {}}), 2432 / 2 + 2432 / 64 * 4);
  // 38 blocks on four ranks: ten each.
  EXPECT_EQ(bytes_of_layer({"", {.dp = 4, .sharding = {.stage = 3}}}), 640 / 2 + 10 * 4);
  EXPECT_EQ(bytes_of_layer({"", {}, true}), 5 * (16384 / 2 + 256 + 4));
}

/// Ranks that have whole blocks of the same matrices compute with the same numbers as one.
TEST(weights_in_4_bits, are_those_of_one_rank_where_blocks_are_whole) {
  const TinyRun one = run_tiny(FourBitCase{"", {}}.scenario());
  for (const Layout& layout : {Layout{.dp = 2}, Layout{.dp = 4, .sharding = {.stage = 3}}, Layout{.pp = 2}}) {
    const TinyRun many = run_tiny(FourBitCase{"", layout}.scenario());
    EXPECT_NEAR(many.report.steps[1].loss, one.report.steps[1].loss, 1e-10 * one.report.steps[1].loss);
    EXPECT_LE(validator::largest_difference(many.parameters, one.parameters).relative, 1e-10);
  }
}

TEST(weights_in_4_bits, are_not_those_of_lora) {
  Scenario wide = FourBitCase{"", {}}.scenario();
  wide.recipe.fine_tune = costmodel::FineTune::Lora;
  const double narrow = run_tiny(FourBitCase{"", {}}.scenario()).report.steps[0].loss,
               in_full = run_tiny(wide).report.steps[0].loss;
  EXPECT_GT(std::abs(narrow - in_full), 1e-6);
  EXPECT_NEAR(narrow, in_full, 0.05);
}

TEST(weights_in_4_bits, are_refused_with_the_reason_where_they_are_not_executed) {
  const auto reason = [](const FourBitCase& which) {
    const auto rejected = validator::first_not_executable(which.scenario());
    return rejected ? rejected->reason : std::string{};
  };
  EXPECT_THAT(reason({"", {.dp = 2, .sharding = {.stage = 3}}, true}),
              testing::HasSubstr("mean of a whole matrix"));
  EXPECT_THAT(reason({"", {.dp = 4, .sharding = {.stage = 3, .hpz = 2}}}),
              testing::HasSubstr("secondary partition (hpz)"));
  EXPECT_THAT(
      reason(
          {"", {}, false, [](Scenario& sc) { sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8}; }}),
      testing::HasSubstr("with experts"));
  EXPECT_EQ(reason({"", {.dp = 2}, true}), "");
}

}  // namespace
}  // namespace hexaplan::tests
