// Multi-token prediction (arXiv:2412.19437 section 2.2): each module is a projection, a layer and a loss
// more, on the stage that has the output layer.
#include <gtest/gtest.h>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/program/compile.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/program/not_modelled.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/model_flops.h"
#include "costmodel/step/stage_parameters.h"
#include "costmodel/step/step_counts.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// The example on one GPU a stage: tp 1, so that nothing is padded or cut.
Scenario with_modules(int modules, int stages = 2) {
  Scenario sc = example_scenario();
  sc.model.mtp_layers = modules;
  sc.layout = {.dp = 16 / stages, .pp = stages};
  sc.framework.vocab_multiple = 1;
  return sc;
}

double elements(const Scenario& sc, int stage) {
  const std::vector<StagePlan> stages = plan_stages(sc);
  return ModelParameters{sc, stages}.of(stages[static_cast<std::size_t>(stage)]).trained.all();
}

double flops_of(const Scenario& sc, int stage) {
  double sum = 0;
  for (const FlopCount& row : count_step(sc, stage).flops) sum += row.flops.value();
  return sum;
}

double microbatches(const Scenario& sc) {
  return static_cast<double>(microbatches_per_step(sc));
}

constexpr double kHidden = 4096, kVocab = 128256, kFfn = 14336, kTokens = 8192;
constexpr double kLayer = 2 * kHidden * kHidden + 2 * kHidden * 1024 + 3 * kHidden * kFfn;  // its matrices

TEST(multi_token_prediction, a_module_has_a_projection_three_norms_and_a_layer) {
  const double one = elements(with_modules(1, 1), 0) - elements(with_modules(0, 1), 0);
  EXPECT_EQ(one, 2 * kHidden * kHidden + 3 * kHidden + kLayer + 2 * kHidden);
  EXPECT_EQ(elements(with_modules(2, 1), 0) - elements(with_modules(0, 1), 0), 2 * one);
}

/// Nemotron-H's modules: attention and an MLP, each behind a norm, whatever the model's last layer is.
TEST(multi_token_prediction, a_module_among_single_branches_has_attention_and_an_mlp) {
  const auto model = [](int modules) {
    Scenario sc = with_modules(modules, 1);
    sc.model.single_branches = true;
    sc.model.mlp_layers = {static_cast<int>(sc.model.layers) - 1};
    return sc;
  };
  const double one = elements(model(1), 0) - elements(model(0), 0);
  EXPECT_EQ(one, 2 * kHidden * kHidden + 3 * kHidden + kLayer + 2 * kHidden);
  EXPECT_EQ(flops_of(model(1), 0) - flops_of(model(0), 0),
            flops_of(with_modules(1, 1), 0) - flops_of(with_modules(0, 1), 0));
  EXPECT_GT(estimate_step(model(1), {}).peak().device, estimate_step(model(0), {}).peak().device);
}

TEST(multi_token_prediction, the_last_stage_has_a_table_of_its_own_for_the_look_ups) {
  const double one_stage = elements(with_modules(1, 1), 0) - elements(with_modules(0, 1), 0);
  EXPECT_EQ(elements(with_modules(1), 0), elements(with_modules(0), 0));
  EXPECT_EQ(elements(with_modules(1), 1) - elements(with_modules(0), 1), one_stage + kVocab * kHidden);
  EXPECT_EQ(elements(with_modules(2), 1) - elements(with_modules(1), 1), one_stage);
  Scenario tied = with_modules(1), without = with_modules(0);
  tied.model.tied_embeddings = without.model.tied_embeddings = true;
  EXPECT_EQ(elements(tied, 1) - elements(without, 1), one_stage);
}

TEST(multi_token_prediction, a_module_computes_its_projection_a_layer_and_the_output_layer) {
  const Scenario with = with_modules(1), without = with_modules(0);
  const double attention = (flops_of(without, 0) / microbatches(without) - 16 * 6 * kTokens * kLayer) /
                           16;  // of one layer, whatever the convention
  const double products = 6 * kTokens * (2 * kHidden * kHidden + kLayer + kVocab * kHidden);
  EXPECT_EQ(flops_of(with, 0), flops_of(without, 0));
  EXPECT_NEAR((flops_of(with, 1) - flops_of(without, 1)) / microbatches(with), products + attention,
              1e-9 * products);
}

TEST(multi_token_prediction, model_flops_count_what_is_trained) {
  const Scenario with = with_modules(1), without = with_modules(0);
  const auto per_step = [](const Scenario& sc) {
    return model_flops_per_step(sc, AttentionFlops::CausalHalved).value();
  };
  const double sequences = 64, pairs = kTokens * kTokens / 2;
  EXPECT_NEAR(
      per_step(with) - per_step(without),
      6 * sequences * (kTokens * (2 * kHidden * kHidden + kLayer + kVocab * kHidden) + pairs * 2 * kHidden),
      1e-6 * per_step(without));
}

/// Bytes alive on the last stage at `instant`.
Bytes alive(const Scenario& sc, Instant instant, TensorKind kind) {
  return sum_alive(build_ledger(sc, sc.layout.pp - 1), instant).of(kind);
}

TEST(multi_token_prediction, keeps_a_layers_values_and_those_on_the_way_to_it) {
  const auto kept = [](int modules, int layers) {
    Scenario sc = with_modules(modules, 1);
    sc.model.layers = layers;
    return alive(sc, kForward, TensorKind::Activation).value();
  };
  const double layer = kept(0, 33) - kept(0, 32);
  // Both norms keep what they read and 1/sigma, the projection what they made: in bf16, one token row each.
  const double way = kTokens * (4 * kHidden * 2 + 2 * 4);
  EXPECT_NEAR(kept(1, 32) - kept(0, 32), layer + way, 1);
}

TEST(multi_token_prediction, recomputed_modules_keep_the_hidden_states_before_them_and_before_their_layer) {
  const auto kept = [](int modules) {
    Scenario sc = with_modules(modules, 1);
    sc.recipe.recompute.mode = RecomputeMode::Full;
    return alive(sc, kForward, TensorKind::Activation).value();
  };
  EXPECT_NEAR(kept(1) - kept(0), 2 * kTokens * kHidden * 2, 1);
}

TEST(multi_token_prediction, logits_of_every_loss_are_alive_together) {
  const auto logits = [](int modules) {
    return alive(with_modules(modules), kLoss, TensorKind::Logits).value();
  };
  EXPECT_GT(logits(0), 0);
  EXPECT_NEAR(logits(1), 2 * logits(0), 1);
  EXPECT_NEAR(logits(3), 4 * logits(0), 1);
}

TEST(multi_token_prediction, makes_its_stage_the_slowest_until_layers_move_away) {
  Scenario sc = with_modules(1);
  sc.model.layers = 32;
  const double even = estimate_step(sc, {}).time.total().value();
  sc.layout.split = StageSplit::Explicit;
  sc.layout.stage_layers = {17, 15};
  EXPECT_LT(estimate_step(sc, {}).time.total().value(), even);
}

TEST(multi_token_prediction, is_left_out_where_the_framework_has_none_and_the_answer_says_so) {
  Scenario sc = with_modules(1);
  EXPECT_TRUE(words_without_effect(sc).empty());
  sc.framework.abilities.mtp = false;
  const Estimate left_out = estimate_step(sc, {}), without = estimate_step(with_modules(0), {});
  EXPECT_EQ(left_out.time.total(), without.time.total());
  EXPECT_EQ(left_out.peak().device, without.peak().device);
  const std::vector<KnobNote> notes = words_without_effect(sc);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].knob, "multi-token prediction");
}

/// Techniques under which a module's way to its layer is compiled.
struct Case {
  const char* name;
  program::Techniques techniques;
};
TEST(multi_token_prediction, its_program_is_valid_under_every_technique) {
  const ModelSpec model = with_modules(1).model;
  const Case cases[] = {
      {"one rank", {}},
      {"tensor parallelism", {.tensor = true}},
      {"sequence parallelism", {.tensor = true, .sequence = true}},
      {"full recompute", {.tensor = true, .recomputed = program::Recomputed::Everything}},
      {"split backward", {.tensor = true, .sequence = true, .splits_backward = true}},
      {"both", {.sequence = false, .recomputed = program::Recomputed::Everything, .splits_backward = true}},
  };
  for (const Case& c : cases) {
    const program::Program compiled = program::compile(program::forward_mtp(model), c.techniques);
    EXPECT_EQ(program::first_fault(compiled), std::nullopt) << c.name;
  }
}

/// Bytes of a module's messages of a pass and kind, its layer's aside.
double sent(const Scenario& sc, Pass pass, CollectiveKind kind) {
  double bytes = 0;
  for (const Operation& op : layer_operations(sc, layer_class_at(sc.model, kMtpClass))) {
    const bool of_module = op.name.starts_with("mtp.");
    if (of_module && op.kind == OpKind::Collective && op.pass == pass && op.collective == kind)
      bytes += op.payload.value() * op.count;
  }
  return bytes;
}

TEST(multi_token_prediction, tensor_ranks_gather_both_inputs_and_the_columns_of_the_projection) {
  Scenario sc = with_modules(1);
  sc.layout = {.dp = 4, .tp = 2, .pp = 2, .sp = true};
  EXPECT_EQ(sent(sc, Pass::Forward, CollectiveKind::AllGather), 3 * kTokens * kHidden * 2);
  sc.layout.sp = false;
  EXPECT_EQ(sent(sc, Pass::Forward, CollectiveKind::AllGather), kTokens * kHidden * 2);
}

// gather_from_tensor_model_parallel_region has a split as its gradient: every rank has the whole one already.
TEST(multi_token_prediction, gradients_of_the_projections_columns_are_never_added_up) {
  Scenario sc = with_modules(1);
  sc.layout = {.dp = 4, .tp = 2, .pp = 2, .sp = true};
  EXPECT_EQ(sent(sc, Pass::BackwardData, CollectiveKind::AllGather), kTokens * kHidden * 2);
  EXPECT_EQ(sent(sc, Pass::BackwardData, CollectiveKind::ReduceScatter), 2 * kTokens * kHidden * 2);
  sc.layout.sp = false;
  EXPECT_EQ(sent(sc, Pass::BackwardData, CollectiveKind::AllGather), 0);
  EXPECT_EQ(sent(sc, Pass::BackwardData, CollectiveKind::ReduceScatter), 0);
  EXPECT_EQ(sent(sc, Pass::BackwardData, CollectiveKind::AllReduce), 2 * kTokens * kHidden * 2);
}

TEST(stage_plan, recomputes_and_counts_layers_of_every_class) {
  Scenario sc = with_modules(0);
  sc.model.attention.unrotated_period = 4;  // every fourth layer has no rotary positions
  sc.recipe.recompute.mode = RecomputeMode::Full;
  for (const StagePlan& stage : plan_stages(sc)) {
    EXPECT_EQ(stage.total_layers(), 16);
    EXPECT_EQ(stage.total_recomputed(), 16);
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
