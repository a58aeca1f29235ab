// Adapters cost products, launches and, over 4-bit weights, dequantisation.
#include <gtest/gtest.h>

#include <string_view>

#include "costmodel/step/estimate.h"
#include "costmodel/step/stage_parameters.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

Scenario tuned(FineTune fine_tune, std::int64_t rank = 16) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 16};
  sc.recipe.fine_tune = fine_tune;
  sc.recipe.lora_rank = rank;
  return sc;
}

double flops_of(const Scenario& sc, std::string_view prefix) {
  double sum = 0;
  for (const Operation& op : layer_operations(sc, {})) {
    if (op.name.substr(0, prefix.size()) == prefix) sum += op.flops.value();
  }
  return sum;
}

double bytes_of(const Scenario& sc, std::string_view name) {
  double sum = 0;
  for (const Operation& op : layer_operations(sc, {})) sum += op.name == name ? op.bytes.value() : 0;
  return sum;
}

TEST(adapters, multiply_by_both_factors_forward_and_twice_in_backward) {
  // q 4096 -> 4096, k and v 4096 -> 1024, o 4096 -> 4096, gate and up 4096 -> 14336, down 14336 -> 4096.
  const double sides =
      (4096 + 4096) + 2 * (4096 + 1024) + (4096 + 4096) + 2 * (4096 + 14336) + (14336 + 4096);
  const double tokens = 8192, rank = 16;
  EXPECT_NEAR(flops_of(tuned(FineTune::Lora), "adapter.") / (3 * 2 * tokens * rank * sides), 1, 1e-12);
}

/// B·A of every adapted layer, in forward alone; and, where it is what both matrices make of the identity,
/// that of the first one.
TEST(adapters, of_dora_are_multiplied_with_each_other) {
  const double weights = 2.0 * 4096 * 4096 + 2.0 * 1024 * 4096 + 3.0 * 14336 * 4096;
  const double squares = 6.0 * 4096 * 4096 + 1.0 * 14336 * 14336;
  Scenario sc = tuned(FineTune::Lora);
  sc.recipe.dora = true;
  EXPECT_EQ(flops_of(sc, "adapter.row_norms"), 2 * 16 * weights);
  sc.framework.dora_identity_bytes = 2;
  EXPECT_EQ(flops_of(sc, "adapter.row_norms"), 2 * 16 * (weights + squares));
  const double scaled = 8192.0 * (4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096);
  EXPECT_EQ(bytes_of(sc, "adapter.magnitude"), scaled * 2 * (2 + 3)) << "passes of the example's rules";
}

TEST(adapters, stand_beside_the_layers_that_the_recipe_targets) {
  const auto per_token_and_rank = [](AdapterTargets targets) {
    Scenario sc = tuned(FineTune::Lora);
    sc.recipe.lora_targets = targets;
    return flops_of(sc, "adapter.") / (3 * 2 * 8192.0 * 16);
  };
  const double qkv = (4096 + 4096) + 2 * (4096 + 1024);
  EXPECT_EQ(per_token_and_rank(AdapterTargets::QueryKeyValue), qkv);
  EXPECT_EQ(per_token_and_rank(AdapterTargets::Attention), qkv + 4096 + 4096);
  EXPECT_EQ(per_token_and_rank(AdapterTargets::QueryValue), qkv - (4096 + 1024));
  EXPECT_EQ(per_token_and_rank(AdapterTargets::Mlp), 3 * (4096 + 14336));
  EXPECT_EQ(per_token_and_rank(AdapterTargets::AllLinear), qkv + 4096 + 4096 + 3 * (4096 + 14336));
}

TEST(adapters, train_the_parameters_of_the_layers_they_stand_beside) {
  const auto trained = [](AdapterTargets targets) {
    Scenario sc = tuned(FineTune::Lora);
    sc.recipe.lora_targets = targets;
    const auto stages = plan_stages(sc);
    return ModelParameters{sc, stages}.of(stages[0]).trained.all();
  };
  // Llama-3.1-8B, r = 16, as huggingface/peft counts q_proj, k_proj, v_proj (+ o_proj): 9.4 M, 13.6 M, 41.9
  // M.
  EXPECT_EQ(trained(AdapterTargets::QueryKeyValue), 32 * 16 * ((4096 + 4096) + 2 * (4096 + 1024)));
  EXPECT_EQ(trained(AdapterTargets::QueryValue), 6'815'744);
  EXPECT_EQ(trained(AdapterTargets::Mlp), 32 * 16 * 3 * (4096 + 14336));
  EXPECT_EQ(trained(AdapterTargets::Attention), 13'631'488);
  EXPECT_EQ(trained(AdapterTargets::AllLinear), 41'943'040);
}

TEST(adapters, of_parameters_that_are_given_have_the_rank_that_they_make) {
  Scenario given = tuned(FineTune::Lora, 0);
  given.recipe.trainable_parameters = 41'943'040;
  EXPECT_EQ(flops_of(given, "adapter."), flops_of(tuned(FineTune::Lora), "adapter."));
}

TEST(adapters, of_a_higher_rank_take_longer) {
  double last = 0;
  for (const std::int64_t rank : {8, 64, 512}) {
    const double step = estimate_step(tuned(FineTune::Lora, rank), {}).time.total().value();
    EXPECT_GT(step, last);
    last = step;
  }
}

TEST(adapters, over_4_bit_weights_dequantise_every_frozen_matrix_in_both_passes) {
  const double weights = 2.0 * 4096 * 4096 + 2.0 * 1024 * 4096 + 3.0 * 14336 * 4096;
  EXPECT_NEAR(bytes_of(tuned(FineTune::Qlora), "adapter.dequantise") / (2 * weights * (0.5625 + 2)), 1,
              1e-12);
  EXPECT_EQ(bytes_of(tuned(FineTune::Lora), "adapter.dequantise"), 0);
  EXPECT_GT(estimate_step(tuned(FineTune::Qlora), {}).time.total(),
            estimate_step(tuned(FineTune::Lora), {}).time.total());
}

TEST(adapters, of_ia3_scale_and_multiply_nothing) {
  const Scenario sc = tuned(FineTune::Ia3, 0);
  EXPECT_EQ(flops_of(sc, "adapter."), 0);
  // Keys and values of 1,024 each and 14,336 inputs, read twice and written, in both passes.
  EXPECT_EQ(bytes_of(sc, "adapter.scale"), 2 * 3 * 2 * 8192.0 * (2048 + 14336));
}

TEST(adapters, stand_beside_no_matrix_of_the_head) {
  for (const Operation& op : head_operations(tuned(FineTune::Qlora))) {
    EXPECT_NE(op.name.substr(0, 8), "adapter.");
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
