// Layers that keep a state instead of attending: what one layer of each kind computes and keeps, counted by
// hand from the reference kernels (docs/formulas.md#T15), and the laws that a state of fixed size gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "costmodel/compute/operations.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/beyond_abilities.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/model_flops.h"
#include "costmodel/step/stage_parameters.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

constexpr double kHidden = 4096, kFfn = 14336, kTokens = 8192;

Scenario on_one_gpu() {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 16};
  sc.framework.vocab_multiple = 1;
  sc.framework.saved[static_cast<std::size_t>(Saved::NormStats)].fp32 = 1;
  return sc;
}

/// 32 heads of 128 columns, which share 16 keys of 64 rows; every fourth layer attends.
Scenario with_delta_net() {
  Scenario sc = on_one_gpu();
  sc.model.recurrent = {.kind = RecurrentKind::GatedDeltaNet,
                        .heads = 32,
                        .head_dim = 128,
                        .groups = 16,
                        .state = 64,
                        .attention_period = 4};
  return sc;
}

/// Mixers alone: 64 heads of 128 columns in 8 groups of 256 rows.
Scenario with_mamba() {
  Scenario sc = on_one_gpu();
  sc.model.mlp.ffn = 0;
  sc.model.attention = {};
  sc.model.single_branches = true;
  sc.model.positions = PositionKind::None;
  sc.model.recurrent = {.kind = RecurrentKind::Mamba2,
                        .heads = 64,
                        .head_dim = 128,
                        .groups = 8,
                        .state = 256,
                        .chunk = 128,
                        .convolution_bias = true};
  return sc;
}

Scenario with_convolutions() {
  Scenario sc = on_one_gpu();
  sc.model.recurrent = {.kind = RecurrentKind::ShortConvolution,
                        .heads = static_cast<std::int64_t>(kHidden),
                        .head_dim = 1,
                        .kernel = 3,
                        .attention_period = 4};
  return sc;
}

constexpr LayerClass kRecurrent{.recurrent = true};
constexpr LayerClass kRecurrentAlone{.recurrent = true, .branches = Branches::Mixer};

/// Of a pass's operations, or of those of a name.
template <class Number>
double sum(Number Operation::*number, const Scenario& sc, LayerClass kind, Pass pass, std::string_view name) {
  double all = 0;
  for (const Operation& op : layer_operations(sc, kind)) {
    if (op.pass == pass && (name.empty() || op.name == name)) all += op.count * (op.*number).value();
  }
  return all;
}
double flops(const Scenario& sc, LayerClass kind, Pass pass, std::string_view name = {}) {
  return sum(&Operation::flops, sc, kind, pass, name);
}
double bytes_moved(const Scenario& sc, LayerClass kind, Pass pass, std::string_view name) {
  return sum(&Operation::bytes, sc, kind, pass, name);
}
double kept(const Scenario& sc, LayerClass kind) {
  TensorLedger ledger;
  program::append_kept_values(sc, local_dims(sc), kind, ledger);
  return size_of(ledger).value();
}

/// Inputs, statistics and outputs of one norm of hidden states.
constexpr double kNorm = 2 * kHidden + 2 * kHidden + 4;
/// Gate, up, and what the last matrix reads.
constexpr double kMlp = 2 * (2 * kFfn + kFfn);

// --- Gated delta net -------------------------------------------------------------------------------------

constexpr double kHeads = 32, kWidth = 128, kRows = 64, kGroups = 16;
constexpr double kValues = kHeads * kWidth, kKeys = kGroups * kRows, kChunk = 64;
constexpr double kDeltaProjection = 2 * kKeys + 2 * kValues + 2 * kHeads;

TEST(gated_delta_net, computes_two_projections_and_the_products_of_its_chunks) {
  const Scenario sc = with_delta_net();
  // k·kᵀ, w, u and the inverse of a chunk; w·S, kᵀ·v, q·S, q·kᵀ, scores·v.
  const double of_head = 3 * kChunk * kRows + 2 * kChunk * kWidth + 3 * kRows * kWidth + kChunk * kChunk / 2;
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.scan"), kTokens * 2 * kHeads * of_head);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.projection"),
            kTokens * 2 * kHidden * kDeltaProjection);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.output"), kTokens * 2 * kHidden * kValues);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::BackwardWeight, "state.projection"),
            kTokens * 2 * kHidden * kDeltaProjection);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "attention.core"), 0);
}

TEST(gated_delta_net, keeps_what_its_kernels_save_for_backward) {
  const double side_by_side = 2 * kDeltaProjection;     // the projection's result, in three parts
  const double keys = 2 * 2 * kKeys + 4 * 2 * kGroups;  // divided by their lengths, and these
  const double operands = 2 * (2 * kHeads * kRows + kValues) + 2 * kHeads;  // for all heads; strengths
  const double chunks = 2 * kHeads * kChunk + 4 * kHeads;                   // inverses, sums of decays
  const double results = 2 * 3 * kValues + 4 * kHeads;  // read, normed, gated; statistics of every head
  const double of_token = kNorm + side_by_side + keys + operands + chunks + results + kNorm + kMlp;
  EXPECT_EQ(kept(with_delta_net(), kRecurrent), kTokens * of_token);
}

TEST(gated_delta_net, writes_a_state_for_every_chunk) {
  const Scenario sc = with_delta_net();
  const double reads = 2 * (2 * kHeads * kRows + kValues) + 4 * kHeads + 2 * kHeads;
  const double writes = 2 * kValues + 4 * kHeads + 2 * kHeads * kChunk;
  const double states = 2 * 2 * kHeads * kRows * kWidth / kChunk;       // written and read, in 16 bits
  const double chunk = 2 * 2 * (kHeads * kRows + 2 * kHeads * kWidth);  // w, u and new values, likewise
  EXPECT_EQ(bytes_moved(sc, kRecurrent, Pass::Forward, "state.scan"),
            kTokens * (reads + writes + states + chunk));
}

TEST(gated_delta_net, has_gated_attention_between_whose_queries_matrix_is_twice_as_wide) {
  Scenario sc = with_delta_net();
  const double plain = kept(sc, {}), products = flops(sc, {}, Pass::Forward, "attention.qkv");
  sc.model.attention.output_gate = true;
  EXPECT_EQ(kept(sc, {}) - plain, kTokens * 2 * 2 * kHidden);  // the gate, and what it made
  EXPECT_EQ(flops(sc, {}, Pass::Forward, "attention.qkv") - products, kTokens * 2 * kHidden * kHidden);
}

// --- Mamba-2 ---------------------------------------------------------------------------------------------

constexpr double kSsmHeads = 64, kSsmWidth = 128, kSsmRows = 256, kSsmGroups = 8, kSsmChunk = 128;
constexpr double kSsmValues = kSsmHeads * kSsmWidth, kSsmKeys = kSsmGroups * kSsmRows;
constexpr double kSsmProjection = 2 * kSsmValues + 2 * kSsmKeys + kSsmHeads;

TEST(mamba2, computes_two_projections_and_the_products_of_its_chunks) {
  const Scenario sc = with_mamba();
  const double of_head = kSsmChunk * kSsmWidth + 2 * kSsmRows * kSsmWidth, of_group = kSsmChunk * kSsmRows;
  const double scan = kTokens * 2 * (kSsmHeads * of_head + kSsmGroups * of_group);
  const double projections = kTokens * 2 * kHidden * (kSsmProjection + kSsmValues);
  EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::Forward, "state.scan"), scan);
  EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::Forward), scan + projections);
  EXPECT_EQ(
      flops(sc, kRecurrentAlone, Pass::BackwardData, "state.scan"),
      kTokens * 2 *
          (kSsmHeads * (3 * kSsmChunk * kSsmWidth + 5 * kSsmRows * kSsmWidth) + kSsmGroups * 3 * of_group));
}

TEST(mamba2, keeps_its_projection_and_three_copies_of_its_values) {
  const double of_token = kNorm + 2 * kSsmProjection + 2 * 3 * kSsmValues + 4 * kSsmGroups;
  EXPECT_EQ(kept(with_mamba(), kRecurrentAlone), kTokens * of_token);
}

TEST(mamba2, without_a_norm_keeps_what_the_scan_makes_and_reads) {
  Scenario sc = with_mamba();
  sc.model.recurrent.norm = false;
  EXPECT_EQ(kept(sc, kRecurrentAlone), kTokens * (kNorm + 2 * kSsmProjection + 2 * 2 * kSsmValues));
}

TEST(mamba2, neither_memory_nor_flops_of_a_token_grow_with_the_sequence) {
  const auto of_token = [](std::int64_t sequence, const auto& figure) {
    Scenario sc = with_mamba();
    sc.recipe.sequence = sequence;
    return figure(sc) / static_cast<double>(sequence);
  };
  const auto memory = [](const Scenario& sc) { return kept(sc, kRecurrentAlone); };
  const auto work = [](const Scenario& sc) {
    return flops(sc, kRecurrentAlone, Pass::Forward) + flops(sc, kRecurrentAlone, Pass::BackwardData);
  };
  const auto model = [](const Scenario& sc) {
    return model_flops_per_step(sc, AttentionFlops::CausalHalved).value();
  };
  for (const std::int64_t sequence : {2048, 32768, 524288}) {
    EXPECT_EQ(of_token(sequence, memory), of_token(1024, memory)) << sequence;
    EXPECT_EQ(of_token(sequence, work), of_token(1024, work)) << sequence;
    EXPECT_NEAR(of_token(sequence, model) / of_token(1024, model), 1, 1e-12) << sequence;
  }
}

// --- Short convolutions ----------------------------------------------------------------------------------

TEST(short_convolution, keeps_both_gates_and_what_stands_between_them) {
  const Scenario sc = with_convolutions();
  // Three parts of the projection; gated, convolved, gated again.
  EXPECT_EQ(kept(sc, kRecurrent), kTokens * (kNorm + 2 * 6 * kHidden + kNorm + kMlp));
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.projection"), kTokens * 2 * 3 * kHidden * kHidden);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.scan"), 0);
  EXPECT_EQ(bytes_moved(sc, kRecurrent, Pass::Forward, "state.convolution"), kTokens * 2 * 2 * kHidden);
}

// --- Mamba-1 ---------------------------------------------------------------------------------------------

constexpr double kChannels = 8192, kScanRows = 16, kRank = 256, kSelected = kRank + 2 * kScanRows;

/// Mixers alone: 8,192 channels with 16 rows of state each, steps of rank 256.
Scenario with_selective_scan(OperandNorms norms = OperandNorms::None) {
  Scenario sc = with_mamba();
  sc.model.recurrent = {.kind = RecurrentKind::Mamba1,
                        .heads = static_cast<std::int64_t>(kChannels),
                        .head_dim = 1,
                        .groups = 1,
                        .state = static_cast<std::int64_t>(kScanRows),
                        .rank = static_cast<std::int64_t>(kRank),
                        .operand_norms = norms,
                        .chunk = 2048,
                        .convolution_bias = true,
                        .norm = false};
  return sc;
}
/// Decays' products and states between chunks of 2,048 tokens, in fp32.
constexpr double kScanStates = kTokens / 2048 * 4 * 2 * kChannels * kScanRows;

TEST(mamba1, computes_four_products_and_a_scan_of_single_numbers) {
  const Scenario sc = with_selective_scan();
  const double scan = kTokens * 7 * kChannels * kScanRows;
  const double operands = kTokens * 2 * kChannels * kSelected, steps = kTokens * 2 * kRank * kChannels;
  EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::Forward, "state.scan"), scan);
  EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::Forward),
            scan + operands + steps + kTokens * 2 * kHidden * 3 * kChannels);
  EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::BackwardData, "state.scan"),
            kTokens * 24 * kChannels * kScanRows);
  EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::BackwardWeight, "state.operands"), operands);
}

TEST(mamba1, fused_keeps_its_projection_and_what_one_matrix_makes_of_it) {
  const double of_token = kNorm + 2 * 2 * kChannels + 2 * (kSelected + 2 * kScanRows) + 2 * kChannels;
  EXPECT_EQ(kept(with_selective_scan(), kRecurrentAlone), kTokens * of_token + kScanStates);
  EXPECT_EQ(kept(with_selective_scan(OperandNorms::Fixed), kRecurrentAlone),
            kTokens * of_token + kScanStates);
}

TEST(mamba1, fused_convolves_and_makes_steps_again_in_backward) {
  for (const OperandNorms norms : {OperandNorms::None, OperandNorms::Trained}) {
    const Scenario sc = with_selective_scan(norms);
    const double again = norms == OperandNorms::None ? 1 : 0;
    const double steps = kTokens * 2 * kRank * kChannels;
    EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::BackwardData, "state.step"), (1 + again) * steps);
    const double convolved = kTokens * 2 * 2 * kChannels;
    EXPECT_EQ(bytes_moved(sc, kRecurrentAlone, Pass::Forward, "state.convolution"), convolved);
    EXPECT_EQ(bytes_moved(sc, kRecurrentAlone, Pass::BackwardData, "state.convolution"),
              kTokens * 2 * 3 * kChannels + again * convolved);
  }
}

TEST(mamba1, with_trained_norms_keeps_what_every_kernel_reads_and_copies_that_lie_otherwise) {
  const double channels = 2 + 1 + 2 + 1 + 1 + 1;  // projection, convolved, copies, steps, read, gated
  const double of_token = kNorm + 2 * channels * kChannels + 2 * 2 * kSelected + 4 * 3;
  EXPECT_EQ(kept(with_selective_scan(OperandNorms::Trained), kRecurrentAlone),
            kTokens * of_token + kScanStates);
}

TEST(mamba1, scans_at_a_rate_beside_the_tensor_cores) {
  for (const Operation& op : layer_operations(with_selective_scan(), kRecurrentAlone))
    EXPECT_EQ(op.by_elements, op.kind == OpKind::Scan) << op.name;
  for (const Operation& op : layer_operations(with_mamba(), kRecurrentAlone)) EXPECT_FALSE(op.by_elements);
}

TEST(mamba1, fused_convolves_three_times_under_full_recomputation) {
  Scenario sc = with_selective_scan();
  sc.recipe.recompute = {.mode = RecomputeMode::Full};
  for (const std::string_view name : {"state.convolution", "state.step", "state.scan"}) {
    bool again = false;
    for (const Operation& op : layer_operations(sc, kRecurrentAlone))
      again = again || (op.recomputed && op.pass == Pass::Forward && op.name == name);
    EXPECT_TRUE(again) << name;
  }
  // Beside what full recomputation runs again, the function still makes its own operands again.
  EXPECT_EQ(flops(sc, kRecurrentAlone, Pass::BackwardData, "state.step"),
            2 * flops(sc, kRecurrentAlone, Pass::Forward, "state.step"));
}

TEST(mamba1, fused_writes_what_left_its_gate_for_the_last_weight_gradient) {
  const double values = kTokens * 2 * kChannels, keys = kTokens * 2 * 2 * kScanRows;
  // Gradients of the gate's result and of four operands, these, what entered the gate, states.
  const double fused = bytes_moved(with_selective_scan(), kRecurrentAlone, Pass::BackwardData, "state.scan");
  EXPECT_EQ(fused, 9 * values + 2 * keys + kScanStates);
}

// --- Lightning attention ---------------------------------------------------------------------------------

constexpr double kBlock = 256, kLightning = 32 * 128;

Scenario with_lightning() {
  Scenario sc = with_delta_net();
  sc.model.recurrent = {.kind = RecurrentKind::Lightning,
                        .heads = 32,
                        .head_dim = 128,
                        .groups = 32,
                        .state = 128,
                        .kernel = 1,
                        .chunk = static_cast<std::int64_t>(kBlock),
                        .attention_period = 8};
  return sc;
}

TEST(lightning_attention, computes_the_products_of_its_blocks) {
  const Scenario sc = with_lightning();
  const double of_head = 2 * kBlock * 128 + 2 * 128 * 128;
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.scan"), kTokens * 2 * 32 * of_head);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::BackwardData, "state.scan"), kTokens * 2 * 2 * 32 * of_head);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.projection"), kTokens * 2 * kHidden * 4 * kLightning);
}

/// transformers' MiniMaxLightningAttention in bf16 on one sequence, counted by PyTorch's hooks for saved
/// tensors (2.9.1): all but the norm, whose eager form profiles count themselves.
TEST(lightning_attention, keeps_what_its_eager_operations_save) {
  const double block = 2 * 32 * kBlock + 2 * kLightning * 128 / kBlock;  // scores, states
  const double scan = 2 * (3 + 3 + 2) * kLightning + block;              // before and after SiLU, decayed
  const double results = 2 * (1 + 1 + 1 + 1) * kLightning + 4;           // gate; read, normed, gated
  EXPECT_EQ(kept(with_lightning(), kRecurrent), kTokens * (kNorm + scan + results + kNorm + kMlp));
}

TEST(lightning_attention, moves_gradients_of_slices_as_large_as_what_was_cut) {
  const auto of_token = [](std::int64_t sequence) {
    Scenario sc = with_lightning();
    sc.recipe.sequence = sequence;
    const double tokens = static_cast<double>(sequence * sc.recipe.micro_batch);
    return bytes_moved(sc, kRecurrent, Pass::BackwardData, "state.scan") / tokens;
  };
  // Of each further block: written, read with the sum, and the sum written.
  EXPECT_EQ(of_token(8192) - of_token(4096), 4096 / kBlock * 4 * 2 * 3 * kLightning);
}

// --- Kimi delta attention --------------------------------------------------------------------------------

Scenario with_kimi_delta() {
  Scenario sc = with_delta_net();
  sc.model.recurrent = {.kind = RecurrentKind::KimiDelta,
                        .heads = 32,
                        .head_dim = 128,
                        .groups = 32,
                        .state = 128,
                        .rank = 128,
                        .attention_period = 4};
  return sc;
}

TEST(kimi_delta_attention, computes_the_delta_rules_products_and_decays_and_gates_of_low_rank) {
  const Scenario sc = with_kimi_delta();
  const double of_head = 5 * kChunk * 128 + 3 * 128 * 128 + kChunk * kChunk / 2;
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.scan"), kTokens * 2 * 32 * of_head);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.projection"),
            kTokens * 2 * kHidden * (3 * 4096 + 32 + 2 * 128));
  for (const std::string_view low_rank : {"state.step", "state.gate"})
    EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, low_rank), kTokens * 2 * 128 * 4096) << low_rank;
}

TEST(kimi_delta_attention, keeps_decays_of_every_row_in_fp32) {
  constexpr double kRowsOfHeads = 32 * 128;
  const double side_by_side =
      2 * 3 * kRowsOfHeads + 2 * 2 * 128 + 2 * kRowsOfHeads;           // gate made from the last
  const double gates = (4 * 3 + 1) * kRowsOfHeads;                     // eager, and where it holds
  const double operands = 2 * 3 * kRowsOfHeads + 4 * 2 * 32 + 2 * 32;  // strengths
  const double chunks = 2 * 4 * kRowsOfHeads + 2 * 2 * 32 * kChunk;    // decays and sums; inverses and scores
  const double results = 2 * 3 * kRowsOfHeads + 4 * 32;
  const double of_token = side_by_side + gates + operands + chunks + results;
  EXPECT_EQ(kept(with_kimi_delta(), kRecurrent), kTokens * (kNorm + of_token + kNorm + kMlp));
}

// --- Layouts ---------------------------------------------------------------------------------------------

TEST(recurrent_layers, stages_hold_the_layers_of_each_kind) {
  Scenario sc = with_delta_net();
  sc.layout = {.dp = 8, .pp = 2};
  const std::vector<StagePlan> stages = plan_stages(sc);
  for (const StagePlan& stage : stages) {
    EXPECT_EQ(stage.layers[static_cast<std::size_t>(index_of(kRecurrent))], 12);
    EXPECT_EQ(stage.layers[static_cast<std::size_t>(index_of(LayerClass{}))], 4);
  }
  const auto elements_of = [&](LayerClass kind) {
    std::vector<ParameterTensor> tensors;
    append_layer_parameters(sc.model, kind, tensors);
    double sum = 0;
    for (const ParameterTensor& t : tensors) sum += static_cast<double>(t.elements());
    return sum;
  };
  const double ends = kHidden * 128256;
  EXPECT_EQ((ModelParameters{sc, stages}.of(stages[0]).trained.all()),
            12 * elements_of(kRecurrent) + 4 * elements_of({}) + ends);
}

TEST(recurrent_layers, a_stage_keeps_the_sum_of_its_layers) {
  Scenario sc = with_delta_net();
  sc.recipe.global_batch = 16;
  double activations = 0;
  for (const TensorEntry& entry : build_ledger(sc, 0)) {
    const bool of_layers = entry.layer_class >= 0 && entry.kind == TensorKind::Activation;
    if (of_layers && (entry.alive & kForward) != 0) activations += entry.size().value();
  }
  EXPECT_NEAR(activations / (24 * kept(sc, kRecurrent) + 8 * kept(sc, {})), 1, 1e-12);
}

TEST(recurrent_layers, are_replayed_class_by_class) {
  Scenario sc = with_delta_net();
  sc.recipe.global_batch = 16;
  const double activations = replay_memory(sc, 0).at[index_of(kBackward)].activations.value();
  EXPECT_NEAR(activations / (24 * kept(sc, kRecurrent) + 8 * kept(sc, {})), 1, 0.01);
}

TEST(recurrent_layers, tensor_parallel_ranks_have_whole_heads) {
  Scenario sc = with_delta_net();
  const double whole = kept(sc, kRecurrent), norms = kTokens * (2 * kNorm);
  const double scan = flops(sc, kRecurrent, Pass::Forward, "state.scan");
  sc.layout = {.dp = 4, .tp = 4};
  EXPECT_EQ(kept(sc, kRecurrent) - norms, (whole - norms) / 4);
  EXPECT_EQ(flops(sc, kRecurrent, Pass::Forward, "state.scan"), scan / 4);
}

TEST(recurrent_layers, exchange_heads_for_tokens_under_context_parallelism) {
  Scenario sc = with_mamba();
  sc.layout = {.dp = 1, .cp = 16};  // twice as many ranks as groups: B and C travel twice
  const double tokens = kTokens / 16;
  std::vector<double> payloads;
  for (const Operation& op : layer_operations(sc, kRecurrentAlone)) {
    if (op.kind == OpKind::Collective && op.pass == Pass::Forward) payloads.push_back(op.payload.value());
    EXPECT_TRUE(op.kind != OpKind::Collective || op.group == Group::Context);
  }
  EXPECT_EQ(payloads,
            (std::vector<double>{tokens * 2 * (kSsmProjection + 2 * kSsmKeys), tokens * 2 * kSsmValues}));
  Scenario one = with_mamba();
  EXPECT_EQ(flops(one, kRecurrentAlone, Pass::Forward, "state.projection"),
            16 * flops(sc, kRecurrentAlone, Pass::Forward, "state.projection"));
}

TEST(recurrent_layers, are_cut_by_whole_heads_and_groups) {
  struct Case {
    Scenario (*scenario)();
    Layout layout;
    std::string_view rule, reason;
  };
  const Case cases[] = {
      {with_delta_net, {.dp = 2, .tp = 8}, "", ""},
      {with_mamba,
       {.dp = 1, .tp = 16},
       "states-divide-by-tp",
       "8 groups of keys of the recurrent layers do not split over tp=16"},
      {with_delta_net, {.dp = 1, .cp = 16}, "", ""},
      {with_mamba, {.dp = 1, .cp = 16}, "", ""},
      {with_delta_net, {.dp = 1, .tp = 2, .cp = 8}, "", ""},
      {[] {
         Scenario sc = with_delta_net();
         sc.model.recurrent.groups = 8;
         return sc;
       },
       {.dp = 1, .cp = 16},
       "states-divide-by-cp",
       "8 groups of keys of the recurrent layers per tensor-parallel rank do not split over cp=16"},
      {with_lightning,
       {.dp = 8, .tp = 2},
       "states-divide-by-tp",
       "no framework cuts these recurrent layers over tensor-parallel ranks"},
      {with_lightning,
       {.dp = 8, .cp = 2},
       "states-divide-by-cp",
       "no framework shares sequences of these recurrent layers"},
      {with_kimi_delta,
       {.dp = 8, .cp = 2},
       "states-divide-by-cp",
       "states that context-parallel ranks hand on to each other are not modelled"},
      {with_convolutions,
       {.dp = 8, .cp = 2},
       "states-divide-by-cp",
       "no framework shares sequences of these recurrent layers"},
      {[] {
         Scenario sc = with_mamba();
         sc.model = with_delta_net().model;
         sc.model.recurrent = {.kind = RecurrentKind::Mamba2,
                               .heads = 64,
                               .head_dim = 128,
                               .groups = 8,
                               .state = 256,
                               .beside_attention = true};
         return sc;
       },
       {.dp = 8, .tp = 2},
       "states-divide-by-tp",
       "attention and state-space layers beside each other are cut by no framework"},
  };
  for (const Case& c : cases) {
    Scenario sc = c.scenario();
    sc.layout = c.layout;
    const std::optional<Rejected> rejected = first_rejection(sc);
    EXPECT_EQ(rejected ? rejected->rule : "", c.rule);
    if (rejected) {
      EXPECT_EQ(rejected->reason, c.reason);
    }
  }
}

TEST(recurrent_layers, beside_attention_have_both_and_their_sum) {
  Scenario sc = with_delta_net();
  const double attention = kept(sc, {});
  sc.model.recurrent.attention_period = 0;
  sc.model.recurrent.beside_attention = true;
  std::vector<std::string_view> names;
  for (const Operation& op : layer_operations(sc, kRecurrent)) {
    if (op.pass == Pass::Forward) names.push_back(op.name);
  }
  for (const std::string_view name : {"attention.core", "state.scan", "mixer.sum"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  // One normed input serves both.
  EXPECT_EQ(kept(sc, kRecurrent),
            kept(with_delta_net(), kRecurrent) + attention - kTokens * (2 * kNorm + kMlp));
}

TEST(recurrent_layers, run_again_as_a_whole_for_what_they_keep) {
  Scenario sc = with_mamba();
  sc.recipe.recompute = {.mode = RecomputeMode::Full};
  double again = 0;
  for (const Operation& op : layer_operations(sc, kRecurrentAlone))
    again += op.recomputed && op.pass == Pass::Forward && op.name == "state.scan" ? op.flops.value() : 0;
  EXPECT_EQ(again, flops(with_mamba(), kRecurrentAlone, Pass::Forward, "state.scan"));
}

TEST(recurrent_layers, are_said_where_the_framework_has_none) {
  Scenario sc = with_mamba();
  EXPECT_TRUE(beyond_abilities(sc).empty());
  sc.framework.abilities.recurrent = bit_of(RecurrentKind::GatedDeltaNet);
  EXPECT_EQ(beyond_abilities(sc), std::vector<std::string>{"Mamba-2 layers"});
  EXPECT_EQ(beyond_abilities([&] {
              Scenario scans = with_selective_scan();
              scans.framework.abilities.recurrent = sc.framework.abilities.recurrent;
              return scans;
            }()),
            std::vector<std::string>{"Mamba-1 layers"});
}

TEST(recurrent_layers, behind_norms_have_theirs_before_them) {
  Scenario sc = with_delta_net();
  const double recurrent = kept(sc, kRecurrent);
  sc.model.norms_behind_branches = true;  // OLMo Hybrid
  EXPECT_EQ(kept(sc, kRecurrent), recurrent);
}

}  // namespace
}  // namespace hexaplan::costmodel
