#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/stage_memory.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

Bytes sum_kind(const TensorLedger& ledger, TensorKind kind) {
  Bytes sum;
  for (const TensorEntry& entry : ledger) sum += entry.kind == kind ? entry.size() : Bytes{};
  return sum;
}

// Llama-3-8B keeps 17 tensors of s·b·h per layer, 34 bytes per token and hidden element
// (MooreThreads/SimuMax@4dcaae5), and the log-sum-exp.
TEST(saved_tensors, a_llama_3_8b_layer_keeps_34_sbh) {
  Scenario sc = example_scenario();
  sc.layout = {};
  sc.cluster.gpus = 1;
  TensorLedger ledger;
  program::append_kept_values(sc, local_dims(sc), {}, ledger);
  const double sbh = 8192.0 * 4096;
  EXPECT_EQ(sum_kind(ledger, TensorKind::Activation).value(), 34 * sbh + 4.0 * 8192 * 32);
}

TEST(memory, states_follow_zero_stage_by_stage) {
  // bytes per parameter: bf16 weights 2, fp32 gradients 4, fp32 master and two moments 12 (arXiv:1910.02054
  // §3 with fp32 gradients), over 4 data-parallel ranks
  struct Case {
    int stage;
    double bytes;
  };
  for (const Case& c :
       {Case{0, 18}, Case{1, 2 + 4 + 12 / 4.0}, Case{2, 2 + (4 + 12) / 4.0}, Case{3, 18 / 4.0}}) {
    SCOPED_TRACE(c.stage);
    Scenario sc = example_scenario();
    sc.layout = {.dp = 4};
    sc.layout.sharding.stage = c.stage;
    std::vector<ParameterTensor> tensors;
    append_layer_parameters(sc.model, {}, tensors);
    TensorLedger ledger;
    append_state_entries(sc, tensors, 0, 1, ledger);
    Bytes sum;
    for (const TensorEntry& entry : ledger) sum += entry.size();
    EXPECT_NEAR(sum.value(), c.bytes * elements_before_sharding(sc, tensors), 1);
  }
}

/// Bytes per parameter that one rank keeps of a layer.
double state_bytes_per_parameter(const Scenario& sc) {
  std::vector<ParameterTensor> tensors;
  append_layer_parameters(sc.model, {}, tensors);
  TensorLedger ledger;
  append_state_entries(sc, tensors, 0, 1, ledger);
  Bytes sum;
  for (const TensorEntry& entry : ledger) sum += entry.size();
  return sum.value() / elements_before_sharding(sc, tensors);
}

TEST(memory, states_follow_the_recipe) {
  struct Case {
    std::string_view what;
    void (*change)(Scenario&);
    double bytes;  // per parameter
  };
  for (const Case& c : {
           Case{"fp16 keeps its gradients", [](Scenario& s) { s.recipe.precision = Precision::Fp16; },
                2 + 2 + 12},
           Case{"pure bf16: gradients and moments like the parameters",
                [](Scenario& s) { s.framework.master_parameters = false; }, 2 + 2 + 4},
           Case{"8-bit moments, with a scale each per 256",
                [](Scenario& s) { s.recipe.optimizer = Optimizer::AdamW8bit; }, 2 + 4 + 4 + 2 + 8.0 / 256},
           Case{"a second gradient beside fp32 ones",
                [](Scenario& s) { s.framework.extra_gradient_copies = 1; }, 2 + 4 + 2 + 12},
           Case{"but not beside its equal",
                [](Scenario& s) {
                  s.framework.extra_gradient_copies = 1;
                  s.recipe.gradient_dtype = DType::Bf16;
                },
                2 + 2 + 12},
           Case{"offloaded optimizer", [](Scenario& s) { s.recipe.offload = kOffloadOptimizer; }, 2 + 4},
           Case{"step fused into backward", [](Scenario& s) { s.recipe.optimizer_in_backward = true; },
                2 + 12},
       }) {
    Scenario sc = example_scenario();
    sc.layout = {};
    c.change(sc);
    EXPECT_NEAR(state_bytes_per_parameter(sc), c.bytes, 1e-9) << c.what;
  }
}

TEST(memory, four_bit_weights_carry_a_scale_per_64) {
  Scenario sc = example_scenario();
  sc.layout = {};
  sc.recipe.fine_tune = FineTune::Qlora;
  const std::vector<ParameterTensor> matrix{{.name = "w", .rows = 4096, .cols = 4096}};
  TensorLedger ledger;
  append_state_entries(sc, matrix, 0, 1, ledger);
  const double adapters = 8 * (4096 + 4096);  // of rank 8, in bf16
  EXPECT_EQ(sum_kind(ledger, TensorKind::Parameter).value(), 4096.0 * 4096 * (0.5 + 4.0 / 64) + 2 * adapters);
}

TEST(memory, a_frozen_mlp_keeps_no_inputs_of_its_matrices) {
  const auto kept = [](FineTune fine_tune, bool four_bit_keeps_inputs = false) {
    Scenario sc = example_scenario();
    sc.layout = {};
    sc.framework.four_bit_keeps_inputs = four_bit_keeps_inputs;
    sc.recipe.fine_tune = fine_tune;
    sc.recipe.lora_targets = AdapterTargets::Attention;
    TensorLedger ledger;
    program::append_kept_values(sc, local_dims(sc), {}, ledger);
    return sum_kind(ledger, TensorKind::Activation).value();
  };
  const double one_norm_and_the_product = 2.0 * 8192 * (4096 + 14336);
  EXPECT_EQ(kept(FineTune::Full) - kept(FineTune::Lora), one_norm_and_the_product);
  EXPECT_EQ(kept(FineTune::Qlora), kept(FineTune::Lora)) << "no gradient reads what a 4-bit matrix reads";
  EXPECT_EQ(kept(FineTune::Qlora, true), kept(FineTune::Full)) << "bitsandbytes before 0.43.2";
  EXPECT_EQ(kept(FineTune::Lora, true), kept(FineTune::Lora)) << "weights of 16 bits never did";
}

// Megatron-LM's CI with Transformer Engine's unfused attention and BigScience's V100 runs both need 5 bytes
// per score, as the fused softmax does.
TEST(memory, stored_scores_take_the_same_with_any_softmax) {
  const auto scores = [](AttentionKernel kernel, double dropout) {
    Scenario sc = example_scenario();
    sc.framework.saved[static_cast<std::size_t>(Saved::Scores)].compute = 1;
    sc.framework.saved[static_cast<std::size_t>(Saved::ScoresDropout)] = {.compute = 1, .byte = 1};
    sc.recipe.attention = kernel;
    sc.recipe.dropout = dropout;
    const LocalDims dims = local_dims(sc);
    TensorLedger ledger;
    program::append_kept_values(sc, dims, {}, ledger);
    double bytes = 0;
    for (const TensorEntry& entry : ledger)
      bytes += entry.name.find("scores") != entry.name.npos ? entry.size().value() : 0;
    return bytes / static_cast<double>(dims.heads * dims.sequence * dims.sequence);
  };
  EXPECT_EQ(scores(AttentionKernel::FusedSoftmax, 0), 2);
  EXPECT_EQ(scores(AttentionKernel::FusedSoftmax, 0.1), 5);  // arXiv:2205.05198 eq. 1
  EXPECT_EQ(scores(AttentionKernel::Unfused, 0), 2);
  EXPECT_EQ(scores(AttentionKernel::Unfused, 0.1), 5);
}

TEST(memory, a_chunked_loss_holds_the_logits_of_one_chunk) {
  const auto logits = [](double chunks, bool complete) {
    Scenario sc = example_scenario();
    sc.layout = {};
    sc.recipe.cross_entropy = CrossEntropy::Chunked;
    sc.framework.loss_chunks = chunks;
    sc.framework.chunked_logits_complete = complete;
    sc.framework.fused_logit_copies_fp32 = 1;
    sc.framework.head_streams = 0;
    TensorLedger ledger;
    append_loss_entries(sc, local_dims(sc), ledger);
    return sum_alive(ledger, kLoss).logits.value() / (8192.0 * 128256);
  };
  EXPECT_EQ(logits(8, false), 6.0 / 8);
  EXPECT_EQ(logits(8, true), 2 + 4.0 / 8);
  EXPECT_EQ(logits(0, false), 6.0 / 32);  // Liger: 128256 / 4096 = 31.3, rounded up to a power of two
}

// DeepSpeed's ZeRO-R, arXiv:1910.02054 section 6.1: checkpoints alone.
TEST(memory, partitioned_activations_cut_what_recomputed_layers_keep_and_nothing_else) {
  const auto kept = [](RecomputeMode mode, bool sp, bool partitioned) {
    Scenario sc = example_scenario();
    sc.layout.sp = sp;
    sc.layout.partition_activations = partitioned;
    sc.recipe.recompute = {.mode = mode, .layers = 4};
    return sum_alive(build_ledger(sc, 0), kForward).activations.value();
  };
  for (const bool sp : {false, true}) {
    EXPECT_EQ(kept(RecomputeMode::None, sp, true), kept(RecomputeMode::None, sp, false));
    EXPECT_EQ(kept(RecomputeMode::Selective, sp, true), kept(RecomputeMode::Selective, sp, false));
  }
  EXPECT_EQ(kept(RecomputeMode::Full, false, true), kept(RecomputeMode::Full, false, false) / 2) << "tp 2";
  EXPECT_EQ(kept(RecomputeMode::Full, true, true), kept(RecomputeMode::Full, true, false));
  const double layers = 2.0 * 4 * 8192 * 4096 * 2 / 2;  // two in flight, four layers, half of 2 bytes
  EXPECT_NEAR(kept(RecomputeMode::Layers, false, false) - kept(RecomputeMode::Layers, false, true), layers,
              1);
}

TEST(memory, more_bytes_than_are_counted_is_an_answer_without_figures) {
  Scenario sc = example_scenario();
  sc.recipe.micro_batch = 8'000'000;
  sc.framework.saved[static_cast<std::size_t>(Saved::LayerOutput)].compute = 10'000;
  sc.recipe.global_batch = sc.recipe.micro_batch * sc.layout.dp * 4;
  ASSERT_FALSE(first_rejection(sc).has_value());
  const Estimate estimate = estimate_step(sc, Calibration{});
  ASSERT_TRUE(std::holds_alternative<Rejected>(estimate.verdict));
  EXPECT_EQ(std::get<Rejected>(estimate.verdict).rule, "counts-stay-in-range");
  EXPECT_TRUE(estimate.stages.empty());
}

TEST(memory, flat_buffers_of_the_step_come_on_top_of_the_activations_blocks) {
  Scenario sc = example_scenario();
  sc.recipe.gradient_dtype = DType::Bf16;
  sc.framework.optimizer_transient_bytes = 6;
  sc.framework.reserved_ratio = 1;
  const StageMemory without = estimate_step(sc, Calibration{}).stages[0];
  sc.framework.flat_optimizer_buffers = true;
  const StageMemory with = estimate_step(sc, Calibration{}).stages[0];
  EXPECT_EQ(with.allocated, without.allocated);
  double buffers = 0;
  for (const TensorEntry& entry : build_ledger(sc, 0))
    buffers += entry.alive == kOptimizer ? entry.size().value() : 0;
  EXPECT_GT(buffers, 0);
  EXPECT_NEAR((with.reserved - without.reserved).value(), buffers, 1);
}

TEST(memory, what_the_allocator_cannot_reuse_is_reserved_and_never_allocated) {
  Scenario sc = example_scenario();  // tp2 pp2 with SP: two forwards in flight on the first stage
  const StageMemory without = estimate_step(sc, Calibration{}).stages[0];
  sc.framework.unreclaimed_streams = 1;
  const StageMemory held = estimate_step(sc, Calibration{}).stages[0];
  EXPECT_EQ(held.allocated, without.allocated);
  const double stream = 2.0 * 8192 * 4096;  // and a shard on either side: twice as much at tp2
  EXPECT_NEAR((held.reserved - without.reserved).value(), 16 * 2 * stream, 1);
  sc.framework.unreclaimed_streams = 0;
  sc.framework.fresh_gradient_share = 1;
  EXPECT_GT(estimate_step(sc, Calibration{}).stages[0].reserved, without.reserved);
}

TEST(memory, gathering_flat_peaks_while_the_step_updates) {
  Scenario sc = example_scenario();
  const StageMemory without = estimate_step(sc, Calibration{}).stages[0];
  sc.framework.flat_gather_copies = 2;
  const StageMemory with = estimate_step(sc, Calibration{}).stages[0];
  EXPECT_EQ(with.idle, without.idle);
  const double parameters = without.at_peak.parameters.value() / 2;
  EXPECT_NEAR((with.update - without.update).value(), 2 * parameters * (2 + 1.0 / 4), 1e3);
}

TEST(memory, buckets_of_ddp_exist_between_replicas_only) {
  Scenario sc = example_scenario();
  sc.framework.extra_gradient_copies = 1;
  sc.framework.gradient_copies_are_buckets = true;
  const auto gradients = [&](int zero) {
    sc.layout.sharding.stage = zero;
    return sum_kind(build_ledger(sc, 0), TensorKind::Gradient).value();
  };
  EXPECT_NEAR(gradients(0) / gradients(1), 1.5, 1e-9) << "fp32, and bf16 beside it";
}

TEST(memory, offloaded_activations_leave_two_layers_behind) {
  Scenario sc = example_scenario();
  sc.recipe.recompute.mode = RecomputeMode::Full;
  sc.recipe.offload = kOffloadActivations;
  EXPECT_EQ(sum_kind(build_ledger(sc, 0), TensorKind::Activation).value(), 2 * 2.0 * 8192 * 4096 / 2);
}

TEST(memory, the_peak_is_the_ledger_summed_at_its_instant) {
  const Scenario sc = example_scenario();
  const Estimate estimate = estimate_step(sc, Calibration{});
  ASSERT_EQ(estimate.stages.size(), 2u);
  for (const StageMemory& stage : estimate.stages) {
    EXPECT_EQ(sum_alive(build_ledger(sc, stage.stage), stage.instant), stage.at_peak);
    EXPECT_EQ(stage.allocated, stage.at_peak.allocated());
  }
}

TEST(memory, full_recompute_keeps_one_input_per_layer) {
  Scenario sc = example_scenario();
  sc.recipe.recompute.mode = RecomputeMode::Full;
  const double input = 2.0 * 8192 * 4096 / 2;  // bf16, cut over tp=2 by sequence parallelism
  const double layers = 16, in_flight = 2;     // first of two stages
  EXPECT_EQ(sum_kind(build_ledger(sc, 0), TensorKind::Activation).value(), input * layers * in_flight);
}

TEST(memory, only_the_last_stage_holds_logits) {
  const Scenario sc = example_scenario();
  EXPECT_EQ(sum_kind(build_ledger(sc, 0), TensorKind::Logits).value(), 0);
  EXPECT_GT(sum_kind(build_ledger(sc, 1), TensorKind::Logits).value(), 0);
}

/// Logits at the start of backward, in copies of one micro-batch's: [s, v / tp].
double copies_of_logits(const Scenario& sc) {
  const LocalDims dims = local_dims(sc);
  const double one = 2.0 * static_cast<double>(dims.tokens * dims.vocab);
  return sum_alive(build_ledger(sc, 1), kBackward).logits.value() / one;
}

TEST(memory, losses_wait_with_their_logits_where_all_forwards_come_first) {
  Scenario sc = example_scenario();
  sc.recipe.global_batch = 8L * sc.layout.dp;  // 8 micro-batches
  sc.framework.head_streams = 0;
  sc.framework.logit_copies_compute = 1, sc.framework.logit_copies_fp32 = 1;
  sc.recipe.cross_entropy = CrossEntropy::Unfused;
  sc.layout.schedule = ScheduleKind::OneFOneB;
  EXPECT_EQ(copies_of_logits(sc), 0);
  sc.layout.schedule = ScheduleKind::GPipe;
  EXPECT_EQ(copies_of_logits(sc), 7 * (1 + 2));  // bf16 and fp32, of all but the running micro-batch
  sc.recipe.cross_entropy = CrossEntropy::Chunked;
  sc.framework.loss_chunks = 8;
  const LocalDims dims = local_dims(sc);
  EXPECT_NEAR(
      copies_of_logits(sc),
      7.0 * static_cast<double>(dims.sp_tokens * dims.hidden) / static_cast<double>(dims.tokens * dims.vocab),
      1e-12);
}

TEST(stage_plan, layers_add_up_and_the_ends_hold_embedding_and_head) {
  Scenario sc = example_scenario();
  for (const StageSplit split : {StageSplit::Even, StageSplit::EndsMinusOne, StageSplit::EmbeddingCounts,
                                 StageSplit::ListedModules, StageSplit::ComputeCost}) {
    for (const int pp : {1, 2, 4, 8}) {
      sc.layout.pp = pp;
      sc.layout.split = split;
      int layers = 0;
      const auto stages = plan_stages(sc);
      for (const StagePlan& stage : stages) layers += stage.total_layers();
      EXPECT_EQ(layers, 32);
      EXPECT_EQ(stages.front().embedding, 1);
      EXPECT_EQ(stages.back().head, 1);
    }
  }
}

TEST(stage_plan, a_v_shaped_schedule_puts_both_ends_on_the_first_stage) {
  Scenario sc = example_scenario();
  sc.layout.pp = 4;
  sc.layout.schedule = ScheduleKind::Zbv;
  const auto stages = plan_stages(sc);
  EXPECT_EQ(stages.front().embedding, 1);
  EXPECT_EQ(stages.front().head, 1);
  EXPECT_EQ(stages.back().head, 0);
}

// nanotron gives the last stage fewer layers because the output layer counts (huggingface/nanotron,
// get_block_compute_costs).
TEST(stage_plan, cutting_by_cost_counts_the_output_layer) {
  Scenario sc = example_scenario();
  sc.model.layers = 16;
  sc.model.hidden = 2048;
  sc.model.vocab = 131072;
  sc.model.attention = {.heads = 32, .kv_heads = 32, .head_dim = 64, .v_head_dim = 64};
  sc.model.mlp.ffn = 8192;
  sc.layout.split = StageSplit::ComputeCost;
  const auto layers = chunk_layers(sc);  // 16 layers and a head worth 4
  EXPECT_EQ(layers.front() + layers.back(), 16);
  EXPECT_GT(layers.front(), layers.back() + 2);
}

// 40 layers with embedding, final norm and head are 43 items (Aleph-Alpha/scaling pipeline_partitioning.py
// pipe_partition_uniform).
TEST(stage_plan, modules_in_one_list_leave_fewer_layers_to_the_stage_with_the_head) {
  Scenario sc = example_scenario();
  sc.model.layers = 40;
  sc.layout.split = StageSplit::ListedModules;
  for (const auto& [pp, layers] : {std::pair{1, std::vector{40}}, std::pair{2, std::vector{21, 19}},
                                   std::pair{4, std::vector{10, 11, 11, 8}}}) {
    sc.layout.pp = pp;
    EXPECT_EQ(chunk_layers(sc), layers);
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
