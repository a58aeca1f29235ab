// The step program against counts made by hand, and where it says more than today's functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/program/compile.h"
#include "costmodel/program/count.h"
#include "costmodel/program/explain.h"
#include "costmodel/program/fold.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/schedule/in_flight.h"
#include "presets/scenario/scenario_request.h"
#include "tests/costmodel/program/hand_written_saved.h"
#include "tests/costmodel/program/today.h"

namespace hexaplan::costmodel::program {
namespace {

using namespace literals;

/// Llama-3.1-8B, one sequence of 8,192 tokens, tp2 with SP.
Scenario llama(int tp = 2) {
  Scenario sc;
  sc.model = {.name = "Llama-3.1-8B", .layers = 32, .hidden = 4096, .vocab = 128256};
  sc.model.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .v_head_dim = 128};
  sc.model.mlp = {.ffn = 14336};
  sc.framework = presets::look_up_framework("hexaplan");
  sc.layout = {.dp = 4, .tp = tp, .sp = tp > 1};
  sc.recipe.sequence = 8192;
  sc.recipe.global_batch = 32;
  return sc;
}
Program layer_of(const Scenario& sc, const Techniques& t) {
  return compile(forward_layer(sc.model, {}), t);
}
Sizes sizes_of(const Scenario& sc) {
  return program::sizes_of(sc, local_dims(sc));
}

TEST(step_program, a_llama_layer_keeps_what_its_backward_reads) {
  const Scenario sc = llama();
  // 8,192 tokens, 4,096 of them on this rank between tensor-parallel regions; heads, ffn over two ranks.
  const std::vector<std::pair<Tensor, double>> by_hand{
      {Tensor::LayerInput, 4096.0 * 4096 * 2},
      {Tensor::NormOutput, 4096.0 * 4096 * 2},
      {Tensor::NormStatistics, 4096.0 * 4},
      {Tensor::QueryKeyValue, 8192.0 * (16 + 4 + 4) * 128 * 2},
      {Tensor::AttentionOutput, 8192.0 * 16 * 128 * 2},
      {Tensor::LogSumExp, 8192.0 * 16 * 4},
      {Tensor::LayerMiddle, 4096.0 * 4096 * 2},
      {Tensor::NormOutput, 4096.0 * 4096 * 2},
      {Tensor::NormStatistics, 4096.0 * 4},
      {Tensor::GateUp, 8192.0 * 2 * 7168 * 2},
      {Tensor::Activation, 8192.0 * 7168 * 2},
  };
  std::vector<std::pair<Tensor, double>> kept;
  for (const KeptValue& value : Footprint{layer_of(sc, techniques_of(sc, false))}.kept(sizes_of(sc)))
    kept.emplace_back(value.tensor, value.bytes.value());
  EXPECT_EQ(kept, by_hand);
}

TEST(step_program, a_recomputed_layer_keeps_its_input_alone) {
  const Scenario sc = llama();
  const auto kept = Footprint{layer_of(sc, techniques_of(sc, true))}.kept(sizes_of(sc));
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].tensor, Tensor::LayerInput);
  EXPECT_EQ(kept[0].bytes, 32_MiB);
}

TEST(step_program, matrices_cost_two_flops_per_weight_and_token_forward_and_four_backward) {
  const Scenario sc = llama(1);
  const Counts counts = count(layer_of(sc, techniques_of(sc, false)), sizes_of(sc));
  const double weights = 4096.0 * (6144 + 4096 + 3 * 14336), attention = 2.0 * 8192 * 8192 / 2 * 32 * 256;
  EXPECT_EQ(counts.flops(Pass::Forward).value(), 2 * 8192 * weights + attention);
  EXPECT_EQ(counts.flops(Pass::BackwardWeight).value(), 2 * 8192 * weights);
  EXPECT_EQ(counts.flops(Pass::BackwardData).value(), 2 * 8192 * weights + 2.5 * attention);
}

TEST(step_program, recomputation_ends_with_the_last_value_that_backward_reads) {
  const Scenario sc = llama(1);
  Techniques t = techniques_of(sc, true);
  const double weights = 4096.0 * (6144 + 4096 + 3 * 14336), down = 4096.0 * 14336;
  const double attention = 2.0 * 8192 * 8192 / 2 * 32 * 256;
  const auto recomputed = [&] {
    double sum = 0;
    for (const Counts::OfSite& site : count(layer_of(sc, t), sizes_of(sc)).sites)
      sum += site.recomputed.value();
    return sum;
  };
  EXPECT_EQ(recomputed(), 2 * 8192 * (weights - down) + attention);
  t.stops_recomputing_early = false;
  EXPECT_EQ(recomputed(), 2 * 8192 * weights + attention);
}

/// arXiv:2205.05198 §4.2.2: per layer two all-gathers and two reduce-scatters forward, the same backward, and
/// the input of each column-parallel matrix once more for its weight gradient.
TEST(step_program, sequence_parallelism_gathers_and_scatters_four_times_per_pass_and_gathers_twice_more) {
  const Scenario sc = llama();
  const Counts counts = count(layer_of(sc, techniques_of(sc, false)), sizes_of(sc));
  std::map<std::pair<CollectiveKind, Pass>, int> messages;
  for (const CountedMessage& message : counts.messages) {
    ++messages[{message.kind, message.pass}];
    EXPECT_EQ(message.payload.value(), 8192.0 * 4096 * 2) << row_of(message.site).name;
  }
  const std::map<std::pair<CollectiveKind, Pass>, int> by_hand{
      {{CollectiveKind::AllGather, Pass::Forward}, 2},
      {{CollectiveKind::ReduceScatter, Pass::Forward}, 2},
      {{CollectiveKind::AllGather, Pass::BackwardData}, 2},
      {{CollectiveKind::ReduceScatter, Pass::BackwardData}, 2},
      {{CollectiveKind::AllGather, Pass::BackwardWeight}, 2}};
  EXPECT_EQ(messages, by_hand);
}

TEST(step_program, reads_and_writes_of_an_operation_are_its_operands_results_and_matrix) {
  const Scenario sc = llama(1);
  const Program p = layer_of(sc, techniques_of(sc, false));
  const auto up = std::find_if(p.ops.begin(), p.ops.end(), [](const Op& op) { return op.site == Site::Up; });
  EXPECT_EQ(traffic_of(p, *up, sizes_of(sc)).value(),
            2.0 * (8192.0 * 4096 + 8192.0 * 28672 + 4096.0 * 28672));
}

TEST(step_program, lists_the_backward_pass_that_its_rules_derive) {
  const Scenario sc = llama(1);
  const std::string text = listing(layer_of(sc, techniques_of(sc, false)));
  EXPECT_EQ(text.substr(text.find("B ")), R"(B mlp.down matmul_dgrad layer.output' -> mlp.activation'
B mlp.down matmul_wgrad mlp.activation, layer.output'
B mlp.activation gated_activation_back mlp.activation', mlp.gate_up -> mlp.gate_up'
B mlp.up matmul_dgrad mlp.gate_up' -> norm.output'
B mlp.up matmul_wgrad norm.output, mlp.gate_up'
B norm2 norm_back layer.output', norm.output', layer.middle, norm.stats -> layer.middle' (in place)
B attention.output matmul_dgrad layer.middle' -> attention.output'
B attention.core attend_delta attention.output', attention.output -> attention.delta
B attention.output matmul_wgrad attention.output, layer.middle'
B attention.core attend_back attention.query_key_value, attention.output', attention.log_sum_exp, attention.delta -> attention.query_key_value', attention.query_sum[workspace]
B attention.rope rope_back attention.query_key_value' -> attention.query_key_value' (in place)
B attention.qkv matmul_dgrad attention.query_key_value' -> norm.output'
B attention.qkv matmul_wgrad norm.output, attention.query_key_value'
B norm1 norm_back layer.middle', norm.output', layer.input, norm.stats -> layer.input' (in place)
)");
}

TEST(framework_program, keeps_what_eager_layers_keep) {
  Scenario sc = llama(1);
  sc.framework = presets::look_up_framework("hf-eager");
  sc.recipe.parameter_dtype = DType::Bf16;
  constexpr double kTokens = 8192, kRow = kTokens * 4096 * 2;  // hidden states in bf16
  const std::map<Tensor, double> by_hand{
      {Tensor::NormInput, 2 * 2 * kRow},   // in fp32, instead of bf16; of two norms
      {Tensor::NormOutput, 2 * 2 * kRow},  // normalised, and times the weight; of two norms
      {Tensor::NormStatistics, 2 * kTokens * 4},
      {Tensor::QueryKeyValue, kRow * 1.5},
      {Tensor::AttentionOutput, kRow},
      {Tensor::LogSumExp, kTokens * 32 * 4},
      {Tensor::GateUp, kTokens * 2 * 14336 * 2},
      {Tensor::Activation, 2 * kTokens * 14336 * 2},  // the product, and what the gate made
  };
  std::map<Tensor, double> kept;
  for (const KeptValue& value : Footprint{layer_of(sc, techniques_of(sc, false))}.kept(sizes_of(sc)))
    kept[value.tensor] += value.bytes.value();
  EXPECT_EQ(kept, by_hand);
}

double kept_bytes_of(const Scenario& sc) {
  return Footprint{layer_of(sc, techniques_of(sc, false))}.kept_bytes(sizes_of(sc)).value();
}

/// arXiv:2205.05198 equations 1, 2, 4 and 6, and both statistics of two LayerNorms, which they leave out.
TEST(framework_program, keeps_the_published_bytes_of_a_gpt_layer_with_dropout_and_stored_scores) {
  constexpr double kS = 2048, kB = 4, kH = 4096, kA = 32, kT = 8, kSbh = kS * kB * kH;
  const auto kept = [&](int tp, bool sp, RecomputeMode recompute) {
    Scenario sc;
    sc.model = {.name = "gpt", .layers = 32, .hidden = 4096, .vocab = 51200};
    sc.model.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .v_head_dim = 128};
    sc.model.mlp = {.ffn = 4 * 4096, .gated = false};
    sc.model.norm = NormKind::Layer;
    sc.framework = presets::look_up_framework("megatron");
    sc.layout = {.tp = tp, .sp = sp};
    sc.recipe = {
        .sequence = 2048, .micro_batch = 4, .attention = AttentionKernel::FusedSoftmax, .dropout = 0.1};
    sc.recipe.recompute.mode = recompute;
    return kept_bytes_of(sc) - 2 * 2 * 4 * kS * kB / (sp ? tp : 1);
  };
  const double scores = 5 * kA * kS / kH;
  EXPECT_EQ(kept(1, false, RecomputeMode::None), kSbh * (34 + scores));
  EXPECT_EQ(kept(8, false, RecomputeMode::None), kSbh * (10 + 24 / kT + scores / kT));
  EXPECT_EQ(kept(8, true, RecomputeMode::None), kSbh / kT * (34 + scores));
  EXPECT_EQ(kept(8, true, RecomputeMode::Selective), kSbh / kT * 34);
}

/// Transformer Engine: inputs of matrices in one byte, under SP the ranks' own share of them; the output of a
/// fused attention as it is, too.
TEST(framework_program, keeps_operands_of_8_bit_matrices_in_8_bits) {
  for (const int tp : {1, 2}) {
    Scenario sc = llama(tp);
    sc.framework = presets::look_up_framework("megatron");
    const double wide = kept_bytes_of(sc);
    sc.recipe.precision = Precision::Fp8;
    const double norms = 2 * 8192.0 * 4096, activation = 8192.0 * 14336, attention = 8192.0 * 4096;
    EXPECT_EQ(kept_bytes_of(sc) - wide, (-norms - activation) / tp) << "tp " << tp;
    sc.framework.keeps_original_inputs = false;  // attention's output in 8 bits, beside what attention keeps
    EXPECT_EQ(kept_bytes_of(sc) - wide, (attention - norms - activation) / tp) << "tp " << tp;
  }
}

TEST(framework_program, keeps_no_8_bit_copy_of_what_is_recomputed) {
  for (const int tp : {1, 2}) {
    Scenario sc = llama(tp);
    sc.framework = presets::look_up_framework("megatron");
    sc.recipe.recompute = {.mode = RecomputeMode::SelectiveModules, .modules = kRecomputeNorm};
    const double wide = kept_bytes_of(sc);  // without norms' outputs
    sc.recipe.precision = Precision::Fp8;
    const double activation = 8192.0 * 14336, norms = 2 * 8192.0 * 4096, attention = 8192.0 * 4096;
    EXPECT_EQ(kept_bytes_of(sc) - wide, -activation / tp) << "tp " << tp;
    sc.framework.keeps_original_inputs = false;
    EXPECT_EQ(kept_bytes_of(sc) - wide, (norms + attention - activation) / tp) << "tp " << tp;
  }
}

TEST(framework_program, keeps_what_adapters_read_and_nothing_for_frozen_matrices) {
  struct Case {
    FineTune fine_tune;
    AdapterTargets targets;
    double less;     // elements per token
    double further;  // … that the adapters keep: what first matrices make, or keys and values to be scaled
  };
  constexpr double kNorm = 4096, kActivation = 14336, kRank = 32;
  // Megatron-Core's linear_qkv and linear_proj, linear_fc1 and linear_fc2: one adapter beside each.
  for (const Case& c : {Case{FineTune::Lora, AdapterTargets::AllLinear, 0, 4 * kRank},
                        {FineTune::Lora, AdapterTargets::Attention, kNorm + kActivation, 2 * kRank},
                        {FineTune::Lora, AdapterTargets::Mlp, kNorm, 2 * kRank},
                        {FineTune::Ia3, AdapterTargets::AllLinear, 2 * kNorm, 2048},
                        {FineTune::Qlora, AdapterTargets::Attention, kNorm + kActivation, 2 * kRank},
                        {FineTune::Qlora, AdapterTargets::Mlp, kNorm, 2 * kRank}}) {
    Scenario sc = llama(1);
    sc.framework = presets::look_up_framework("megatron");
    const double all = kept_bytes_of(sc);
    sc.recipe.fine_tune = c.fine_tune;
    sc.recipe.lora_targets = c.targets;
    EXPECT_EQ(all - kept_bytes_of(sc), 2 * 8192 * (c.less - c.further));
  }
}

/// transformers 5's experts are parameters in 16 bits, whichever the layers around them are.
TEST(framework_program, experts_that_are_parameters_keep_as_much_beside_4_bit_layers) {
  const auto kept = [](FineTune fine_tune, bool parameters) {
    Scenario sc = llama(1);
    sc.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 14336};
    sc.framework = presets::look_up_framework("hf-eager");
    sc.framework.experts_are_parameters = parameters;
    sc.recipe.fine_tune = fine_tune;
    TensorLedger ledger;
    append_kept_values(sc, local_dims(sc), class_of_layer(sc.model, 0), ledger);
    double bytes = 0;
    for (const TensorEntry& entry : ledger) bytes += entry.size().value();
    return bytes;
  };
  EXPECT_EQ(kept(FineTune::Qlora, true), kept(FineTune::Lora, true));
  EXPECT_LT(kept(FineTune::Qlora, true), kept(FineTune::Qlora, false));
}

TEST(framework_program, has_room_for_a_weight_gradient_before_it_is_added) {
  Scenario sc = llama(1);
  sc.framework = presets::look_up_framework("fsdp2");
  const Program p = layer_of(sc, techniques_of(sc, false));
  std::vector<double> elements;
  for (const Op& op : p.ops) {
    if (op.kind == Kind::MatmulWeight) elements.push_back(sizes_of(sc).elements(p.of(op.writes[0]).shape));
  }
  EXPECT_THAT(elements, ::testing::UnorderedElementsAre(4096.0 * 6144, 4096.0 * 4096, 4096.0 * 2 * 14336,
                                                        4096.0 * 14336));
}

TEST(framework_program, gathers_into_a_buffer_that_stays) {
  Scenario sc = llama();
  sc.framework = presets::look_up_framework("megatron");
  Techniques t = techniques_of(sc, false);
  ASSERT_TRUE(t.shares_gather_buffers);
  const Program p = layer_of(sc, t);
  int gathers = 0;
  for (const Op& op : p.ops) {
    if (op.kind != Kind::AllGather) continue;
    EXPECT_EQ(p.of(op.writes[0]).storage, Storage::Shared);
    ++gathers;
  }
  EXPECT_EQ(gathers, 6);  // into either block, gradients into either, and both inputs again
  t.shares_gather_buffers = false;
  // What a micro-batch keeps is the same.
  EXPECT_EQ(Footprint{p}.kept_bytes(sizes_of(sc)), Footprint{layer_of(sc, t)}.kept_bytes(sizes_of(sc)));
}

/// The hand-written rules of latent attention forget the statistics of the two latent norms, which backward
/// reads: 1/σ in fp32 for every token, 8 bytes where queries have a latent, too.
TEST(latent_program, keeps_the_statistics_of_the_latent_norms_that_todays_ledger_forgets) {
  for (const std::int64_t query_rank : {0, 1536}) {
    Scenario sc = llama(1);
    sc.model.attention = {.kind = AttentionKind::Latent,
                          .heads = 32,
                          .kv_heads = 32,
                          .head_dim = 192,
                          .v_head_dim = 128,
                          .q_lora_rank = query_rank,
                          .kv_lora_rank = 512,
                          .qk_nope_dim = 128,
                          .qk_rope_dim = 64};
    const LocalDims dims = local_dims(sc);
    TensorLedger saved;
    append_hand_written_saved(sc, dims, {}, 1, saved);
    double today = 0;
    for (const TensorEntry& entry : saved) today += entry.size().value();
    const double kept = Footprint{layer_of(sc, techniques_of(sc, false))}.kept_bytes(sizes_of(sc)).value();
    EXPECT_EQ(kept - today, (query_rank > 0 ? 8.0 : 4.0) * 8192) << "query rank " << query_rank;
  }
}

TEST(in_flight, counts_the_layers_of_the_chunks_that_are_alive_where_chunks_differ) {
  Scenario sc = llama(1);
  sc.framework = presets::look_up_framework("megatron");
  sc.recipe.global_batch = 64;
  sc.layout = {.dp = 1, .pp = 4, .vpp = 2};
  sc.layout.schedule = ScheduleKind::Interleaved;
  EXPECT_FALSE(has_unequal_chunks(sc));
  const std::vector<double> even = microbatches_in_flight(sc);
  sc.layout.split = StageSplit::Explicit;
  sc.layout.stage_layers = {6, 6, 6, 6, 2, 2, 2, 2};
  EXPECT_TRUE(has_unequal_chunks(sc));
  const std::vector<double> first_heavy = microbatches_in_flight(sc);
  sc.layout.stage_layers = {2, 2, 2, 2, 6, 6, 6, 6};
  const std::vector<double> last_heavy = microbatches_in_flight(sc);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    // Of the chunks that wait, more are first ones: their backward comes last.
    EXPECT_GT(first_heavy[stage], even[stage]);
    EXPECT_GT(first_heavy[stage], last_heavy[stage]);
  }
  // On the last stage of four the first chunk of the next micro-batch joins those of four others.
  EXPECT_EQ(even[3], 5 / 2.0);
  EXPECT_EQ(first_heavy[3], 5 * 6 / 8.0);
}

}  // namespace
}  // namespace hexaplan::costmodel::program
