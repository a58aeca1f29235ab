// Whole training steps of a tiny model with the CUDA kernels, run on the host, and on the CPU in bf16,
// against the CPU in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/cases_of_this_build.h"
#include "tests/support/emulated_device.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/optimizer/loss_scale.h"

namespace hexaplan::tests {
namespace {

using costmodel::RecomputeMode;
using costmodel::Scenario;
using validator::Element;

void nothing(Scenario& /*sc*/) {}
void recompute(Scenario& sc) {
  sc.recipe.recompute.mode = RecomputeMode::Full;
}
void recompute_attention(Scenario& sc) {
  sc.recipe.recompute.mode = RecomputeMode::Selective;
}
/// Rows of whole packs.
void wide(Scenario& sc) {
  sc.model.hidden = 64;
  sc.model.attention.head_dim = sc.model.attention.v_head_dim = 8;
  sc.model.mlp.ffn = 96;
  sc.model.vocab = 126;
}
void experts(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12};
}
template <costmodel::Optimizer kOptimizer>
void updated_by(Scenario& sc) {
  sc.recipe.optimizer = kOptimizer;
}
void experts_recomputed(Scenario& sc) {
  experts(sc);
  recompute(sc);
}

void two_modules(Scenario& sc) {
  wide(sc);
  sc.model.mtp_layers = 2;
}
void experts_with_a_module(Scenario& sc) {
  experts(sc);
  sc.model.mtp_layers = 1;
  sc.model.tied_embeddings = true;
}

void adapters(Scenario& sc) {
  sc.recipe.fine_tune = costmodel::FineTune::Lora;
  sc.recipe.lora_rank = 3;
}

template <bool kScalesToo>
void adapters_of_4_bits(Scenario& sc) {
  adapters(sc);
  sc.recipe.fine_tune = costmodel::FineTune::Qlora;
  sc.recipe.double_quantization = kScalesToo;
}

void scales(Scenario& sc) {
  sc.recipe.fine_tune = costmodel::FineTune::Ia3;
}

void chunked_loss(Scenario& sc) {
  sc.recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
}
void unfused_loss(Scenario& sc) {
  sc.recipe.cross_entropy = costmodel::CrossEntropy::Unfused;
}
void stored_scores(Scenario& sc) {
  sc.recipe.attention = costmodel::AttentionKernel::Unfused;
  sc.model.attention.softcap = 2;
  recompute_attention(sc);
}
void dropout(Scenario& sc) {
  sc.recipe.dropout = 0.2;
}
void dropout_of_stored_scores(Scenario& sc) {
  dropout(sc);
  sc.recipe.attention = costmodel::AttentionKernel::FusedSoftmax;
}
void recompute_operators(Scenario& sc) {
  sc.recipe.recompute.mode = RecomputeMode::SelectiveOperators;
}

struct StepCase {
  std::string name;
  costmodel::Layout layout;
  void (*change)(Scenario&);
};

class CudaStep : public testing::TestWithParam<StepCase> {
 protected:
  static Scenario scenario() {
    Scenario sc = tiny_scenario(GetParam().layout);
    GetParam().change(sc);
    sc.recipe.global_batch = 2 * std::int64_t{sc.layout.dp};
    return sc;
  }
  static TinyRun run(Element element) {
    return run_tiny(scenario(), 2, [element](int /*rank*/) { return make_emulated_device(element); });
  }
  /// Losses and gradient norms are those of float64, within the rounding of activations and gradients.
  static void expect_bfloat16(const TinyRun& run) { expect_rounded(run, 1e-2, 5e-2); }
  static void expect_rounded(const TinyRun& run, double most_of_loss, double most_of_norm) {
    const TinyRun reference = run_tiny(scenario());
    ASSERT_EQ(run.report.steps.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      const double loss = apart(run.report.steps[i].loss, reference.report.steps[i].loss);
      EXPECT_LE(loss, most_of_loss);
      EXPECT_GT(loss, 1e-9) << "nothing was rounded";
      EXPECT_LE(apart(run.report.steps[i].gradient_norm, reference.report.steps[i].gradient_norm),
                most_of_norm);
    }
  }
  static double apart(double a, double b) { return std::abs(a - b) / std::abs(b); }
};

TEST_P(CudaStep, equals_float64_in_float32) {
  const TinyRun reference = run_tiny(scenario()), cuda = run(Element::F32);
  ASSERT_EQ(cuda.report.steps.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_LE(apart(cuda.report.steps[i].loss, reference.report.steps[i].loss), 1e-5);
    EXPECT_LE(apart(cuda.report.steps[i].gradient_norm, reference.report.steps[i].gradient_norm), 1e-4);
  }
  const auto worst = validator::largest_difference(cuda.parameters, reference.parameters);
  EXPECT_LE(worst.relative, 1e-4) << worst.parameter.second << " of unit " << worst.parameter.first;
}

TEST_P(CudaStep, has_the_loss_of_float64_in_bfloat16) {
  expect_bfloat16(run(Element::Bf16));
}

TEST_P(CudaStep, has_the_loss_of_float64_on_the_cpu_in_bfloat16) {
  expect_bfloat16(
      run_tiny(scenario(), 2, [](int /*rank*/) { return validator::make_cpu_device(Element::Bf16); }));
}

TEST_P(CudaStep, has_the_loss_of_float64_on_the_cpu_in_float16_by_a_scaled_loss) {
  Scenario sc = scenario();
  sc.recipe.precision = costmodel::Precision::Fp16;
  const TinyRun fp16 = run_tiny(sc, 2, [](int /*rank*/) { return validator::make_cpu_device(Element::F16); });
  expect_rounded(fp16, 2e-3, 1e-2);
  for (const validator::StepReport& step : fp16.report.steps) {
    EXPECT_EQ(step.loss_scale, validator::LossScale::kFirst);
    EXPECT_FALSE(step.skipped);
  }
}

std::vector<StepCase> step_cases() {
  return cases_of_this_build(
      std::vector<StepCase>{
          {"one_rank", {}, nothing},
          {"one_rank_wide", {}, wide},
          {"tp2_sp", {.tp = 2, .sp = true}, wide},
          {"zig_zag_ring", {.cp = 2}, recompute_attention},
          {"pp2_recomputed", {.pp = 2}, recompute},
          {"zero3", {.dp = 2, .sharding = {.stage = 3}}, nothing},
          {"quantised_messages",
           {.dp = 2, .sharding = {.stage = 3, .quantized_weights = true, .quantized_gradients = true}},
           wide},
          {"adamw_8bit_zero1",
           {.dp = 2, .sharding = {.stage = 1}},
           updated_by<costmodel::Optimizer::AdamW8bit>},
          {"lamb_tp2", {.tp = 2}, updated_by<costmodel::Optimizer::Lamb>},
          {"adafactor_tp2_zero2",
           {.dp = 2, .tp = 2, .sharding = {.stage = 2}},
           updated_by<costmodel::Optimizer::Adafactor>},
          {"muon_zero2", {.dp = 2, .sharding = {.stage = 2}}, updated_by<costmodel::Optimizer::Muon>},
          {"all", {.tp = 2, .cp = 2, .pp = 2, .sp = true}, recompute},
          {"adapters_tp2_sp", {.tp = 2, .sp = true}, adapters},
          {"weights_in_4_bits_zero3", {.dp = 2, .sharding = {.stage = 3}}, adapters_of_4_bits<false>},
          {"scales_in_8_bits_tp2", {.tp = 2}, adapters_of_4_bits<true>},
          {"scales_tp2_sp", {.tp = 2, .sp = true}, scales},
          {"chunked_loss_tp2", {.tp = 2}, chunked_loss},
          {"unfused_loss", {}, unfused_loss},
          {"stored_scores_tp2_sp", {.tp = 2, .sp = true}, stored_scores},
          {"dropout_tp2_sp", {.tp = 2, .sp = true}, dropout},
          {"dropout_of_stored_scores", {}, dropout_of_stored_scores},
          {"operators_recomputed_tp2", {.tp = 2}, recompute_operators},
          {"multi_token_prediction_tp2_sp_pp2", {.tp = 2, .pp = 2, .sp = true}, two_modules},
          {"multi_token_prediction_ep2_zero3",
           {.dp = 2, .ep = 2, .sharding = {.stage = 3}},
           experts_with_a_module},
          {"experts", {}, experts},
          {"experts_ep2", {.dp = 2, .ep = 2}, experts},
          {"experts_all", {.dp = 2, .tp = 2, .pp = 2, .ep = 2, .sp = true}, experts_recomputed},
          {"experts_zig_zag_ring", {.cp = 2, .ep = 2}, experts_recomputed}},
      {"zero3", "all", "experts_ep2"});
}

TEST(loss_scale, halves_after_an_overflow_and_doubles_after_two_thousand_steps_without) {
  validator::LossScale scale{true};
  EXPECT_EQ(scale.factor(), 65536);
  for (int i = 0; i < 1999; ++i) scale.follow(true);
  scale.follow(false);
  EXPECT_EQ(scale.factor(), 32768);
  for (int i = 0; i < 1999; ++i) scale.follow(true);
  EXPECT_EQ(scale.factor(), 32768) << "the row of good steps begins anew after an overflow";
  scale.follow(true);
  EXPECT_EQ(scale.factor(), 65536);
}

TEST(loss_scale, of_what_is_not_scaled_stays_one) {
  validator::LossScale scale{false};
  scale.follow(false);
  EXPECT_EQ(scale.factor(), 1);
}

/// Reports and the first master of a run that moves every weight by ±1 in its first step.
struct WildRun {
  std::vector<validator::StepReport> steps;
  validator::GlobalState::Tensors parameters;
};
WildRun run_wildly(const Scenario& sc, int steps) {
  validator::GlobalState state;
  validator::RunOptions options{.steps = steps};
  // LAMB moves a matrix by its own length.
  options.learning_rate.peak = sc.recipe.optimizer == costmodel::Optimizer::Lamb ? 10 : 1;
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(Element::F16); };
  options.stepped = [&](const validator::RankView& view) {
    if (view.step == steps) state.add(view, validator::State::Master);
  };
  validator::ThreadRanks ranks;
  return {.steps = validator::run_steps(sc, options, ranks).steps, .parameters = state.tensors()};
}

class Skipped : public testing::TestWithParam<costmodel::Optimizer> {};

TEST_P(Skipped, step_whose_gradients_overflow_changes_no_parameter_and_halves_the_next_scale) {
  Scenario sc = tiny_scenario({.dp = 2, .sharding = {.stage = 1}});
  sc.recipe.precision = costmodel::Precision::Fp16;
  sc.recipe.optimizer = GetParam();
  const WildRun one = run_wildly(sc, 1), two = run_wildly(sc, 2), three = run_wildly(sc, 3);
  EXPECT_FALSE(one.steps[0].skipped);
  ASSERT_TRUE(two.steps[1].skipped) << two.steps[1].gradient_norm;
  EXPECT_TRUE(std::isfinite(two.steps[1].loss));
  EXPECT_EQ(validator::largest_difference(one.parameters, two.parameters).relative, 0);
  EXPECT_EQ(three.steps[2].loss_scale, validator::LossScale::kFirst / 2);
}

INSTANTIATE_TEST_SUITE_P(device, Skipped,
                         testing::Values(costmodel::Optimizer::AdamW, costmodel::Optimizer::AdamW8bit,
                                         costmodel::Optimizer::Lion, costmodel::Optimizer::Muon,
                                         costmodel::Optimizer::Lamb, costmodel::Optimizer::Adafactor));

INSTANTIATE_TEST_SUITE_P(device, CudaStep, testing::ValuesIn(step_cases()),
                         [](const testing::TestParamInfo<StepCase>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
