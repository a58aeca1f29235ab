#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "costmodel/step/estimate.h"
#include "costmodel/step/step_operations.h"
#include "example_scenario.h"

namespace hexaplan::costmodel {
namespace {

StepTime time_of(const Scenario& scenario) {
  return estimate_step(scenario, Calibration{}).time;
}

/// The example on one node, FSDP over its eight GPUs.
Scenario fsdp() {
  Scenario sc = example_scenario();
  sc.cluster.gpus = 8;
  sc.layout = {.dp = 8};
  sc.layout.sharding.stage = 3;
  sc.recipe.global_batch = 8;
  return sc;
}

/// One GPU of the same, so that nothing is communicated.
Scenario alone() {
  Scenario sc = fsdp();
  sc.cluster.gpus = 1;
  sc.layout.dp = 1;
  sc.recipe.global_batch = 1;
  return sc;
}

/// Of attention: products of one rank, whose shard is the whole gradient, add to it.
TEST(step_mechanisms, gpus_that_wait_for_each_other_run_as_fast_as_the_slowest) {
  const double one = time_of(alone()).attention.value();
  const double eight = time_of(fsdp()).attention.value();
  EXPECT_NEAR(eight / one, 1 + 0.015 * std::sqrt(2 * std::log(8.0)), 0.005);
}

TEST(step_mechanisms, a_backward_gather_that_starts_late_waits_in_full) {
  Scenario late = fsdp();
  late.framework.backward_gather_overlap = false;
  const Seconds early = time_of(fsdp()).data_parallel;
  EXPECT_GT(time_of(late).data_parallel.value(), 1.5 * early.value());
}

TEST(step_mechanisms, parameters_that_are_not_gathered_ahead_are_waited_for) {
  Scenario none = fsdp(), part = fsdp();
  none.framework.gather_prefetch_layers = 0;
  part.framework.gather_prefetch_layers = 0.25;
  const double ahead = time_of(fsdp()).data_parallel.value();
  EXPECT_GT(time_of(part).data_parallel.value(), 1.5 * ahead);
  EXPECT_GT(time_of(none).data_parallel.value(), time_of(part).data_parallel.value());
}

TEST(step_mechanisms, a_vocabulary_over_the_stages_sends_the_last_output_to_all_of_them) {
  Scenario spread = example_scenario();
  spread.layout.vocab = VocabParallel::AllStagesOneBarrier;
  double broadcasts = 0, reductions = 0;
  for (const Operation& op : head_operations(spread)) {
    if (op.group != Group::Pipeline || op.kind != OpKind::Collective) continue;
    (op.collective == CollectiveKind::Broadcast ? broadcasts : reductions) += op.count;
    EXPECT_EQ(op.payload.value(), 8192.0 / 2 * 4096 * 2) << "tokens of a rank under SP, hidden size, bf16";
  }
  EXPECT_EQ(broadcasts, spread.layout.pp) << "of which every stage's share of the head has one";
  EXPECT_EQ(reductions, spread.layout.pp);
  for (const Operation& op : head_operations(example_scenario())) EXPECT_NE(op.group, Group::Pipeline);
}

/// Tensor-parallel messages of a layer of `scenario` at one site and pass.
double messages(const Scenario& scenario, std::string_view name, Pass pass) {
  double count = 0;
  for (const Operation& op : layer_operations(scenario, {})) {
    if (op.kind == OpKind::Collective && op.name == name && op.pass == pass) count += op.count;
  }
  return count;
}

TEST(step_mechanisms, linear_layers_that_bring_in_their_input_apart_send_as_many_messages) {
  Scenario apart = example_scenario();
  apart.framework.attention_entries = 3;
  apart.framework.mlp_entries = 2;
  for (const bool sp : {true, false}) {
    Scenario fused = example_scenario();
    fused.layout.sp = apart.layout.sp = sp;
    for (const auto& [site, entries] :
         {std::pair{"attention.enter_tp", 3.0}, std::pair{"mlp.enter_tp", 2.0}}) {
      EXPECT_EQ(messages(fused, site, Pass::Forward), sp ? 1 : 0) << site;
      EXPECT_EQ(messages(apart, site, Pass::Forward), sp ? entries : 0) << site;
      EXPECT_EQ(messages(fused, site, Pass::BackwardData), 1) << site;
      EXPECT_EQ(messages(apart, site, Pass::BackwardData), entries) << site;
    }
  }
  apart.model.mlp.gated = false;
  EXPECT_EQ(messages(apart, "mlp.enter_tp", Pass::BackwardData), 1) << "one matrix, whoever wrote it";
}

TEST(step_mechanisms, logits_that_every_rank_has_whole_are_gathered_once_and_worked_on_by_all) {
  Scenario whole = example_scenario(), cut = whole;
  whole.framework.whole_logits = true;
  const double tp = whole.layout.tp;
  const auto sum = [](const Scenario& sc, OpKind kind, std::string_view name) {
    double bytes = 0;
    for (const Operation& op : head_operations(sc)) {
      if (op.kind != kind || !op.name.starts_with(name)) continue;
      bytes += op.count * (kind == OpKind::Collective ? op.payload : op.bytes).value();
    }
    return bytes;
  };
  EXPECT_EQ(sum(whole, OpKind::Collective, "head.gather_logits"), 8192.0 * 128256 * 2);
  EXPECT_EQ(sum(cut, OpKind::Collective, "head.gather_logits"), 0);
  EXPECT_GT(sum(cut, OpKind::Collective, "loss.reduce"), 0);
  EXPECT_EQ(sum(whole, OpKind::Collective, "loss.reduce"), 0);
  EXPECT_GT(sum(cut, OpKind::MemoryBound, "loss"), 0);
  EXPECT_EQ(sum(whole, OpKind::MemoryBound, "loss"), tp * sum(cut, OpKind::MemoryBound, "loss"));
  whole.layout.tp = cut.layout.tp = 1;
  whole.layout.dp *= 2, cut.layout.dp *= 2;
  EXPECT_EQ(sum(whole, OpKind::MemoryBound, "loss"), sum(cut, OpKind::MemoryBound, "loss"));
}

TEST(step_mechanisms, gradients_of_16_bits_that_are_reduced_in_fp32_travel_twice_as_wide) {
  Scenario wide = example_scenario();
  wide.recipe.gradient_dtype = DType::Bf16;
  const auto reduced = [](const Scenario& sc) {
    double bytes = 0;
    for (const Operation& op : step_operations(sc, 0)) {
      if (op.name == "gradient.reduce") bytes += op.count * op.payload.value();
    }
    return bytes;
  };
  const double narrow = reduced(wide);
  wide.framework.reduces_in_fp32 = true;
  EXPECT_GT(narrow, 0);
  EXPECT_EQ(reduced(wide), 2 * narrow);
}

TEST(step_mechanisms, traffic_of_layers_that_are_not_compiled_has_rules_of_its_own) {
  Scenario eager = alone();
  eager.framework.elementwise[static_cast<std::size_t>(Elementwise::Norm)] = {2, 3, 1, 2};
  const auto bit = [](SavedCase c) { return static_cast<std::uint16_t>(1U << static_cast<unsigned>(c)); };
  const auto cases = static_cast<std::uint16_t>(bit(SavedCase::NotCompiled) | bit(SavedCase::RmsNorms));
  eager.framework.elementwise_when = {{cases, Elementwise::Norm, {18, 50, 7, 16}}};
  const auto norms = [](const Scenario& sc) {
    double bytes = 0;
    for (const Operation& op : layer_operations(sc, {})) {
      if (op.name.starts_with("norm")) bytes += op.bytes.value();
    }
    return bytes;
  };
  const double fused = norms(eager);
  EXPECT_EQ(fused, 2 * 8192.0 * 4096 * 2 * (2 + 3)) << "not said to be eager";
  eager.recipe.execution.compiled = false;
  EXPECT_EQ(norms(eager), fused / 5 * 68);
  eager.model.norm = NormKind::Layer;
  EXPECT_EQ(norms(eager), fused) << "PyTorch's layer_norm is one kernel";
}

/// The batch of stored scores, heads of a rank times sequences, decides about Megatron's softmax kernel.
TEST(step_mechanisms, scores_that_the_fused_softmax_does_not_take_go_through_single_operations) {
  Scenario sc = alone();
  sc.recipe.attention = AttentionKernel::FusedSoftmax;
  sc.recipe.sequence = sc.model.max_positions = 1024;
  sc.framework.elementwise[static_cast<std::size_t>(Elementwise::Softmax)] = {2, 3, 1, 1};
  const auto softmax = [](const Scenario& s) {
    double bytes = 0;
    for (const Operation& op : layer_operations(s, {})) {
      if (op.name == "attention.softmax") bytes += op.bytes.value();
    }
    return bytes;
  };
  const auto per_score = [&](std::int64_t heads, std::int64_t sequence) {
    Scenario s = sc;
    s.model.attention.heads = s.model.attention.kv_heads = heads;
    s.recipe.sequence = s.model.max_positions = sequence;
    return softmax(s) / (static_cast<double>(heads * sequence * sequence) * 2);
  };
  EXPECT_EQ(per_score(32, 1024), 5);
  EXPECT_EQ(per_score(2, 1024), 25) << "two heads: no group of four";
  EXPECT_EQ(per_score(32, 8192), 25) << "more keys than the kernel takes";
}

TEST(step_mechanisms, a_replayed_schedule_waits_as_long_as_its_busiest_stage) {
  Scenario sc = example_scenario();
  sc.model.layers = 8;
  sc.model.vocab = 512'000;  // the last stage works far more than the others
  sc.layout.schedule = ScheduleKind::ZbH1;
  const auto bubble_of = [&](std::int64_t batch) {
    sc.recipe.global_batch = batch;
    return time_of(sc).bubble.value();
  };
  const std::int64_t few = sc.recipe.global_batch;
  EXPECT_NEAR(bubble_of(4 * few), bubble_of(2 * few), 0.02 * bubble_of(2 * few))
      << "filling and draining, whatever the number of micro-batches";
}

TEST(step_mechanisms, copies_in_and_out_of_fsdp_buffers_take_their_bandwidth) {
  Scenario copied = fsdp();
  copied.framework.gather_copy_bytes = 4;
  copied.framework.reduce_copy_bytes = 6;
  const double added = (time_of(copied).data_parallel - time_of(fsdp()).data_parallel).value();
  const double bytes = 8.03e9 * (2 * 4 + 6);
  EXPECT_NEAR(added, bytes / (0.80 * 3.35e12), 0.05 * added);
}

TEST(step_mechanisms, zero_2_gathers_once_where_layers_are_gathered_one_by_one) {
  Scenario once = fsdp();
  once.layout.sharding.stage = 2;
  once.framework.zero2_gathers_layers = true;
  once.framework.backward_gather_overlap = false;
  Scenario twice = once;
  twice.layout.sharding.stage = 3;
  EXPECT_LT(time_of(once).data_parallel.value(), 0.8 * time_of(twice).data_parallel.value());
}

TEST(step_mechanisms, a_checkpoint_that_stops_early_spares_the_last_matrix) {
  Scenario whole = fsdp();
  whole.recipe.recompute.mode = RecomputeMode::Full;
  Scenario early = whole;
  early.framework.recompute_stops_early = true;
  const double share = time_of(early).recompute / time_of(whole).recompute;
  EXPECT_GT(share, 0.65);  // the down projection is 27 % of the layer's matrices
  EXPECT_LT(share, 0.85);
}

TEST(step_mechanisms, copies_of_a_token_to_one_node_cross_the_network_once) {
  Scenario merged = example_of_experts();
  merged.framework.expert_dispatch_merges_copies = true;
  const double share = time_of(merged).expert_parallel / time_of(example_of_experts()).expert_parallel;
  EXPECT_NEAR(share, 2 * (1 - std::pow(0.5, 8)) / 8, 0.05);
}

TEST(step_mechanisms, layers_with_experts_wait_for_the_host_once_per_pass) {
  Scenario waiting = example_of_experts();
  waiting.framework.expert_layer_overhead = Seconds{1e-3};
  const double added = (time_of(waiting).launch - time_of(example_of_experts()).launch).value();
  EXPECT_NEAR(added, 32 * 2 * 1e-3, 1e-9);
}

double bytes_of(const Scenario& sc, std::string_view name, bool forward) {
  double bytes = 0;
  for (const Operation& op : layer_operations(sc, class_of_layer(sc.model, 0))) {
    if (op.name == name && (op.pass == Pass::Forward) == forward) bytes += op.bytes.value();
  }
  return bytes;
}

TEST(step_mechanisms, biases_of_experts_are_traffic_and_the_last_one_has_a_rule_of_its_own) {
  Scenario sc = example_of_experts();
  const auto rule = [&sc](Elementwise step) -> ElementwiseRule& {
    return sc.framework.elementwise[static_cast<std::size_t>(step)];
  };
  rule(Elementwise::ExpertBias) = {.backward_passes = 1, .backward_kernels = 1};
  rule(Elementwise::ExpertOutputBias) = {14, 20, 4, 6};
  EXPECT_EQ(bytes_of(sc, "moe.expert.down_bias", true), 0) << "none in this model";
  sc.model.moe.expert_bias = true;
  const double last = bytes_of(sc, "moe.expert.down_bias", true);
  EXPECT_GT(last, 0);
  EXPECT_NEAR(bytes_of(sc, "moe.expert.down_bias", false) / last, 20.0 / 14, 1e-9);
  EXPECT_EQ(bytes_of(sc, "moe.expert.up_bias", true), 0) << "the product adds it";
  const double widths =
      2.0 * static_cast<double>(sc.model.moe.expert_ffn) / static_cast<double>(sc.model.hidden);
  EXPECT_NEAR(bytes_of(sc, "moe.expert.up_bias", false) / last, widths / 14, 1e-9) << "gate and up";
}

/// Bytes that tensor-parallel messages of a layer carry, by collective.
double sent(const Scenario& sc, CollectiveKind kind) {
  double bytes = 0;
  for (const Operation& op : layer_operations(sc, class_of_layer(sc.model, 0))) {
    const bool counted = op.kind == OpKind::Collective && op.group == Group::Tensor && op.collective == kind;
    if (counted) bytes += op.count * op.payload.value();
  }
  return bytes;
}

TEST(step_mechanisms, what_matrices_read_in_8_bits_is_gathered_in_8_bits_and_sums_are_not) {
  for (const bool gathers_again : {true, false}) {
    Scenario wide = example_scenario();
    wide.layout.sp = true;
    wide.framework.gather_saved_inputs = !gathers_again;
    Scenario narrow = wide;
    narrow.recipe.precision = Precision::Fp8;
    EXPECT_EQ(sent(narrow, CollectiveKind::ReduceScatter), sent(wide, CollectiveKind::ReduceScatter));
    EXPECT_EQ(sent(narrow, CollectiveKind::AllGather), sent(wide, CollectiveKind::AllGather) / 2)
        << gathers_again;
    EXPECT_GT(sent(wide, CollectiveKind::AllGather), 0);
    Scenario blocks = narrow;
    blocks.recipe.precision = Precision::Mxfp8;
    const double gradients = 2.0 / (gathers_again ? 6 : 4);  // of the gathers, two are of gradients
    EXPECT_NEAR(sent(blocks, CollectiveKind::AllGather) / sent(narrow, CollectiveKind::AllGather),
                1 + gradients, 1e-9)
        << "along either side";
  }
}

TEST(step_mechanisms, a_ring_attends_to_one_ranks_keys_at_a_time) {
  Scenario ring = example_scenario();
  ring.layout = {.dp = 4, .cp = 4};
  double pieces = 0, merges = 0;
  for (const Operation& op : layer_operations(ring, class_of_layer(ring.model, 0))) {
    if (op.pass != Pass::Forward) continue;
    if (op.kind == OpKind::Attention) pieces += op.count;
    if (op.name == "attention.merge") merges += op.count;
  }
  EXPECT_EQ(pieces, 4);
  EXPECT_EQ(merges, 3);
}

TEST(step_mechanisms, every_fp8_linear_layer_casts_its_input_its_gradient_and_its_weight) {
  Scenario sc = alone();
  sc.recipe.precision = Precision::Fp8;
  int inputs = 0, gradients = 0, weights = 0;
  for (const Operation& op : layer_operations(sc, class_of_layer(sc.model, 0))) {
    if (op.name == "quantize.weight") ++weights;
    if (op.name != "quantize") continue;
    ++(op.pass == Pass::Forward ? inputs : gradients);
  }
  EXPECT_EQ(inputs, 4);
  EXPECT_EQ(gradients, 4);
  EXPECT_EQ(weights, 4);
  for (const Operation& op : head_operations(sc))
    EXPECT_NE(op.name, "quantize") << "the output layer stays wide";
}

TEST(step_mechanisms, weights_that_are_frozen_in_8_bits_are_not_cast) {
  Scenario sc = alone();
  sc.recipe.precision = Precision::Fp8;
  sc.recipe.fine_tune = FineTune::Lora;
  EXPECT_GT(bytes_of(sc, "quantize.weight", true), 0) << "frozen in 16 bits";
  sc.recipe.parameter_dtype = DType::Fp8;
  EXPECT_EQ(bytes_of(sc, "quantize.weight", true), 0);
  sc.recipe.fine_tune = FineTune::Pretrain;
  EXPECT_GT(bytes_of(sc, "quantize.weight", true), 0) << "an update changes them";
}

}  // namespace
}  // namespace hexaplan::costmodel
