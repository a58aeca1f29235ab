// Low-rank adapters as operations of the step program, against counts by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "costmodel/memory/flat_units.h"
#include "costmodel/parameters/adapters.h"
#include "costmodel/program/compile.h"
#include "costmodel/program/count.h"
#include "costmodel/program/variants.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::costmodel::program {
namespace {

constexpr double kTokens = 8192, kHidden = 4096, kGateUp = 2 * 14336, kActivation = 14336, kQkv = 6144;
constexpr double kRank = 8, kBf16 = 2;

Scenario llama_8b(int tp, FineTune fine_tune, AdapterTargets targets = AdapterTargets::AllLinear) {
  Scenario sc;
  sc.model = {.name = "Llama-3.1-8B", .layers = 32, .hidden = 4096, .vocab = 128256};
  sc.model.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .v_head_dim = 128};
  sc.model.mlp = {.ffn = 14336};
  sc.framework = presets::look_up_framework("hexaplan");
  sc.layout.tp = tp;
  sc.recipe.sequence = 8192;
  sc.recipe.fine_tune = fine_tune;
  sc.recipe.lora_rank = fine_tune == FineTune::Lora ? 8 : 0;
  sc.recipe.lora_targets = targets;
  return sc;
}

Program layer_of(const Scenario& sc) {
  return compile(forward_of(sc, Part::Layer, {}), techniques_of(sc, false));
}
Counts counts_of(const Scenario& sc) {
  return count(layer_of(sc), sizes_of(sc, local_dims(sc)));
}

TEST(adapters_program, has_weight_gradients_of_adapters_alone) {
  const Scenario sc = llama_8b(2, FineTune::Lora);
  const Program p = layer_of(sc);
  ASSERT_TRUE(is_valid(p));
  int adapters = 0;
  for (const Op& op : p.ops) {
    if (op.kind != Kind::MatmulWeight) continue;
    EXPECT_NE(p.weights[static_cast<std::size_t>(op.weight)].adapter, AdapterSide::None);
    ++adapters;
  }
  EXPECT_EQ(adapters, 2 * 4) << "A and B beside qkv, output, up and down";
  EXPECT_TRUE(std::ranges::none_of(compile(forward_of(sc, Part::Embedding, {}), techniques_of(sc, false)).ops,
                                   [](const Op& op) { return op.phase != Phase::Forward; }));
}

TEST(adapters_program, keeps_inputs_of_adapted_matrices_and_what_their_first_products_make) {
  struct Case {
    AdapterTargets targets;
    double dropped, layers;  // elements per token that no gradient reads, adapted linear layers
  };
  // The output of attention is kept whatever is adapted: the gradient of the scores reads it.
  const double all = counts_of(llama_8b(1, FineTune::Pretrain)).kept.value();
  for (const Case& c : {Case{AdapterTargets::AllLinear, 0, 7},
                        {AdapterTargets::Attention, kHidden + kActivation, 4},
                        {AdapterTargets::QueryKeyValue, kHidden + kActivation, 3},
                        {AdapterTargets::QueryValue, kHidden + kActivation, 2},
                        {AdapterTargets::Mlp, kHidden, 3}}) {
    const double kept = counts_of(llama_8b(1, FineTune::Lora, c.targets)).kept.value();
    EXPECT_EQ(all - kept, kTokens * kBf16 * (c.dropped - c.layers * kRank));
  }
}

TEST(adapters_program, multiplies_twice_forward_and_four_times_backward_beside_every_frozen_matrix) {
  const Counts plain = counts_of(llama_8b(1, FineTune::Pretrain)),
               adapted = counts_of(llama_8b(1, FineTune::Lora));
  const double first = 2 * kTokens * kRank * (3 * kHidden + kHidden + 2 * kHidden + kActivation);
  const double second = 2 * kTokens * kRank * (kQkv + kHidden + kGateUp + kHidden);
  EXPECT_EQ((adapted.flops(Pass::Forward) - plain.flops(Pass::Forward)).value(), first + second);
  EXPECT_EQ((adapted.flops(Pass::BackwardData) - plain.flops(Pass::BackwardData)).value(), first + second);
  EXPECT_EQ(adapted.flops(Pass::BackwardWeight).value(), first + second);
}

/// What is scaled, and one number in fp32 for each of its columns. B·A is a product of forward alone.
TEST(adapters_program, of_dora_keep_what_they_scale_and_measure_the_rows_that_they_add_to) {
  struct Case {
    AdapterTargets targets;
    double outputs, elements;  // of the adapted layers
  };
  constexpr double kQueries = 4096, kValues = 1024;
  for (const Case& c : {Case{AdapterTargets::AllLinear, kQkv + kHidden + kGateUp + kHidden,
                             kHidden * (kQkv + kHidden + kGateUp + kActivation)},
                        {AdapterTargets::QueryValue, kQueries + kValues, kHidden * (kQueries + kValues)}}) {
    Scenario sc = llama_8b(1, FineTune::Lora, c.targets);
    const Counts lora = counts_of(sc);
    sc.recipe.dora = true;
    const Program p = layer_of(sc);
    ASSERT_TRUE(is_valid(p)) << *first_fault(p);
    const Counts dora = count(p, sizes_of(sc, local_dims(sc)));
    EXPECT_EQ((dora.kept - lora.kept).value(), c.outputs * (kTokens * kBf16 + 4));
    EXPECT_EQ((dora.flops(Pass::Forward) - lora.flops(Pass::Forward)).value(), 2 * kRank * c.elements);
    EXPECT_EQ(dora.flops(Pass::BackwardData), lora.flops(Pass::BackwardData));
    EXPECT_EQ(dora.flops(Pass::BackwardWeight), lora.flops(Pass::BackwardWeight));
  }
}

/// Beside the four products of either pass, the rows of four matrices are measured in the forward one.
TEST(adapters_program, write_weights_in_4_bits_out_to_measure_their_rows) {
  Scenario sc = llama_8b(1, FineTune::Qlora);
  sc.recipe.lora_rank = 8;
  sc.recipe.dora = true;
  const Program p = layer_of(sc);
  ASSERT_TRUE(is_valid(p));
  int forward = 0, backward = 0;
  for (const Op& op : p.ops) {
    if (op.kind == Kind::Dequantise) (op.phase == Phase::Forward ? forward : backward) += 1;
  }
  EXPECT_EQ(forward, 8);
  EXPECT_EQ(backward, 4);
}

/// An output layer that trains behind a frozen norm has one product more, m·h·v, and keeps its operand for
/// it; nothing changes in the layers. A word table that trains is reached by the backward pass.
TEST(adapters_program, of_ends_have_gradients_where_modules_train_beside_them) {
  Scenario sc = llama_8b(1, FineTune::Lora);
  const auto weight_gradients = [&](const Program& p) {
    return std::ranges::count_if(
        p.ops, [](const Op& op) { return op.kind == Kind::MatmulWeight || op.kind == Kind::LookupBack; });
  };
  const auto part = [&](Program forward) { return compile(std::move(forward), techniques_of(sc, false)); };
  EXPECT_EQ(weight_gradients(part(forward_of(sc, Part::Head, {}))), 0);
  EXPECT_EQ(weight_gradients(part(forward_of(sc, Part::Embedding, {}))), 0);
  const Counts layer = counts_of(sc);
  sc.recipe.saved_modules = SavedModules::Head;
  EXPECT_EQ(weight_gradients(part(forward_of(sc, Part::Head, {}))), 1);
  EXPECT_EQ(weight_gradients(part(forward_of(sc, Part::Embedding, {}))), 0);
  sc.recipe.saved_modules = SavedModules::Both;
  EXPECT_EQ(weight_gradients(part(forward_of(sc, Part::Embedding, {}))), 1);
  EXPECT_EQ(counts_of(sc).kept, layer.kept);
}

TEST(adapters_program, learn_a_magnitude_for_every_output_of_an_adapted_layer) {
  Scenario sc = llama_8b(1, FineTune::Lora);
  const double lora = layer_unit(sc, {}).flats[1].elements;
  sc.recipe.dora = true;
  EXPECT_EQ(layer_unit(sc, {}).flats[1].elements - lora, kQkv + kHidden + kGateUp + kHidden);
}

TEST(adapters_program, leaves_the_keys_out_where_queries_and_values_are_adapted) {
  const Counts plain = counts_of(llama_8b(1, FineTune::Pretrain)),
               adapted = counts_of(llama_8b(1, FineTune::Lora, AdapterTargets::QueryValue));
  EXPECT_EQ((adapted.flops(Pass::Forward) - plain.flops(Pass::Forward)).value(),
            2 * kTokens * kRank * (2 * kHidden + 4096 + 1024));
}

TEST(adapters_program, sends_nothing_that_the_frozen_layer_does_not_send) {
  const Counts plain = counts_of(llama_8b(4, FineTune::Pretrain)),
               adapted = counts_of(llama_8b(4, FineTune::Lora));
  EXPECT_EQ(plain.messages, adapted.messages);
}

/// Of the two matrices that tensor parallelism cuts along their rows.
TEST(adapters_program, of_dora_gather_the_lengths_of_what_four_ranks_have_of_rows) {
  Scenario sc = llama_8b(4, FineTune::Lora);
  const Counts lora = counts_of(sc);
  sc.recipe.dora = true;
  const Program p = layer_of(sc);
  ASSERT_TRUE(is_valid(p)) << *first_fault(p);
  const Counts dora = count(p, sizes_of(sc, local_dims(sc)));
  std::vector<CountedMessage> lengths;
  for (const CountedMessage& message : dora.messages) {
    if (message.kind == CollectiveKind::AllGather) lengths.push_back(message);
  }
  ASSERT_EQ(lengths.size(), 2U);
  EXPECT_EQ(dora.messages.size(), lora.messages.size() + lengths.size());
  for (const CountedMessage& message : lengths) {
    EXPECT_EQ(message.pass, Pass::Forward);
    EXPECT_EQ(message.payload.value(), 4 * 4 * kHidden);
  }
}

TEST(adapters_program, cuts_what_stands_at_the_cut_side_of_a_matrix) {
  const Scenario sc = llama_8b(4, FineTune::Lora);
  const UnitSizes unit = layer_unit(sc, {});
  ASSERT_EQ(unit.flats.size(), 2U);
  const FlatSizes &frozen = unit.flats[0], &adapters = unit.flats[1];
  EXPECT_FALSE(frozen.trained);
  EXPECT_TRUE(adapters.trained);
  const double first = 3 * kHidden + 2 * kHidden + (kHidden + kActivation) / 4;
  const double second = (kQkv + kGateUp) / 4 + 2 * kHidden;
  EXPECT_EQ(adapters.elements, kRank * (first + second));
  // Partial sums of what every rank holds: A beside column-cut matrices, B beside row-cut ones.
  EXPECT_EQ(adapters.summed_over_tensor_ranks, kRank * (5 * kHidden + 2 * kHidden));
}

TEST(adapters_program, shares_frozen_weights_from_stage_3_on) {
  for (const int stage : {1, 2, 3}) {
    Scenario sc = llama_8b(1, FineTune::Lora);
    sc.layout.dp = 4;
    sc.layout.sharding.stage = stage;
    const UnitSizes unit = layer_unit(sc, {});
    EXPECT_EQ(unit.flats[0].shards, stage == 3 ? 4 : 1);
    EXPECT_EQ(unit.flats[1].shards, 4);
  }
}

/// Four frozen products each way, and, recomputed, those that run again; of the widest a layer has one copy.
TEST(adapters_program, writes_weights_in_4_bits_out_before_every_product_that_reads_them) {
  Scenario sc = llama_8b(1, FineTune::Qlora);
  sc.recipe.lora_rank = 8;
  for (const bool recomputed : {false, true}) {
    if (recomputed) sc.recipe.recompute.mode = RecomputeMode::Full;
    const Program p = compile(forward_of(sc, Part::Layer, {}), techniques_of(sc, recomputed));
    ASSERT_TRUE(is_valid(p));
    int forward = 0, backward = 0;
    for (std::size_t i = 0; i < p.ops.size(); ++i) {
      if (p.ops[i].kind != Kind::Dequantise) continue;
      const Op& product = p.ops.at(i + 1);
      EXPECT_EQ(product.reads[product.reads.size() - 1], p.ops[i].writes[0]);
      EXPECT_EQ(product.weight, p.ops[i].weight);
      EXPECT_EQ(product.recomputed, p.ops[i].recomputed);
      (p.ops[i].phase == Phase::Forward ? forward : backward) += 1;
    }
    EXPECT_EQ(forward, 4);
    EXPECT_GE(backward, recomputed ? 7 : 4);
    EXPECT_LE(backward, recomputed ? 8 : 4);
  }
}

TEST(adapters_program, keeps_in_4_bits_what_lora_keeps) {
  Scenario sc = llama_8b(1, FineTune::Qlora);
  sc.recipe.lora_rank = 8;
  const Counts wide = counts_of(llama_8b(1, FineTune::Lora)), narrow = counts_of(sc);
  EXPECT_EQ(wide.kept, narrow.kept);
  for (const Pass pass : {Pass::Forward, Pass::BackwardData, Pass::BackwardWeight})
    EXPECT_EQ(wide.flops(pass), narrow.flops(pass));
}

TEST(adapters_program, gathers_weights_in_4_bits_as_they_are) {
  Scenario sc = llama_8b(1, FineTune::Qlora);
  const double matrices = 4096.0 * (kQkv + kHidden + kGateUp + kActivation);
  for (const bool twice : {false, true}) {
    sc.recipe.double_quantization = twice;
    const FlatSizes kept = layer_unit(sc, {}).flats.back();
    EXPECT_TRUE(kept.in_4_bits);
    EXPECT_FALSE(kept.trained);
    EXPECT_EQ(kept.between, 0) << "every matrix is whole blocks of blocks";
    EXPECT_EQ(parameter_bytes(sc, kept, kept.padded()),
              matrices / 2 + (twice ? matrices / 64 + matrices / (64 * 256) * 4 : matrices / 64 * 4));
  }
}

/// Keys, values and what the second matrix reads, each kept before it is scaled (arXiv:2205.05638 §3.3).
/// Without a gradient of frozen matrices, hidden states behind norms are not kept, and the scaled activation
/// is not, either.
TEST(adapters_program, keeps_what_ia3_scales) {
  constexpr double kKeyValue = 2048;
  const double all = counts_of(llama_8b(1, FineTune::Pretrain)).kept.value();
  const Counts scaled = counts_of(llama_8b(1, FineTune::Ia3));
  EXPECT_EQ(all - scaled.kept.value(), kTokens * kBf16 * (2 * kHidden - kKeyValue));
  EXPECT_EQ(scaled.flops(Pass::BackwardWeight).value(), 0);
  EXPECT_EQ(counts_of(llama_8b(4, FineTune::Ia3)).messages,
            counts_of(llama_8b(4, FineTune::Pretrain)).messages);
}

TEST(adapters_program, cuts_scales_as_what_they_scale) {
  const UnitSizes unit = layer_unit(llama_8b(4, FineTune::Ia3), {});
  ASSERT_EQ(unit.flats.size(), 2U);
  EXPECT_EQ(unit.flats[1].elements, (2048 + kActivation) / 4);
  EXPECT_EQ(unit.flats[1].summed_over_tensor_ranks, 0);
}

}  // namespace
}  // namespace hexaplan::costmodel::program
