// The operation list that the step program gives, against one written by hand, field by field: every model
// family, layout, recipe and random framework profile that scenarios can say.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/local_dims.h"
#include "costmodel/step/estimate.h"
#include "tests/costmodel/program/hand_written_operations.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel::program {
namespace {

/// A number of an operation; what it says in words is in `named`.
struct Field {
  const char* name;
  double (*of)(const Operation&);
};
const std::vector<Field>& fields() {
  static const std::vector<Field> all{
      {"kind", [](const Operation& o) { return double(o.kind); }},
      {"recomputed", [](const Operation& o) { return double(o.recomputed); }},
      {"precision",
       [](const Operation& o) {
         // Nothing reads it of memory traffic.
         return o.kind == OpKind::MemoryBound ? 0 : double(o.precision);
       }},
      {"gemm.m", [](const Operation& o) { return double(o.gemm.m); }},
      {"gemm.n", [](const Operation& o) { return double(o.gemm.n); }},
      {"gemm.k", [](const Operation& o) { return double(o.gemm.k); }},
      {"gemm.batch", [](const Operation& o) { return double(o.gemm.batch); }},
      {"gemm.accumulate_bytes", [](const Operation& o) { return o.gemm.accumulate_bytes; }},
      {"gemm.alignment", [](const Operation& o) { return double(o.gemm.alignment); }},
      {"attention.batch", [](const Operation& o) { return double(o.attention.batch); }},
      {"attention.heads", [](const Operation& o) { return double(o.attention.heads); }},
      {"attention.kv_heads", [](const Operation& o) { return double(o.attention.kv_heads); }},
      {"attention.seq_q", [](const Operation& o) { return double(o.attention.seq_q); }},
      {"attention.seq_kv", [](const Operation& o) { return double(o.attention.seq_kv); }},
      {"attention.head_dim", [](const Operation& o) { return double(o.attention.head_dim); }},
      {"attention.v_head_dim", [](const Operation& o) { return double(o.attention.v_head_dim); }},
      {"attention.window", [](const Operation& o) { return double(o.attention.window); }},
      {"attention.causal", [](const Operation& o) { return double(o.attention.causal); }},
      {"attention.dropout", [](const Operation& o) { return double(o.attention.dropout); }},
      {"attention.pairs", [](const Operation& o) { return o.attention.pairs; }},
      {"attention.unmasked", [](const Operation& o) { return o.attention.unmasked; }},
      {"attention.library", [](const Operation& o) { return double(o.attention.library); }},
      {"flops", [](const Operation& o) { return o.flops.value(); }},
      {"bytes", [](const Operation& o) { return o.bytes.value(); }},
      {"update", [](const Operation& o) { return double(o.update); }},
      {"kernels", [](const Operation& o) { return o.kernels; }},
      {"count", [](const Operation& o) { return o.count; }},
      {"collective", [](const Operation& o) { return double(o.collective); }},
      {"group", [](const Operation& o) { return double(o.group); }},
      {"copies", [](const Operation& o) { return o.copies; }},
      {"payload", [](const Operation& o) { return o.payload.value(); }},
  };
  return all;
}

/// In one order whatever the lists' own: by name, pass and then every field.
std::vector<Operation> sorted(std::vector<Operation> list) {
  std::ranges::sort(list, [](const Operation& a, const Operation& b) {
    if (a.name != b.name) return a.name < b.name;
    if (a.pass != b.pass) return a.pass < b.pass;
    for (const Field& field : fields()) {
      const double x = field.of(a), y = field.of(b);
      if (std::abs(x - y) > 1e-9 * std::abs(y)) return x < y;
    }
    return false;
  });
  return list;
}

/// By hand the exchanges of heads against sequence before and after attention are one message of their sum.
std::vector<Operation> with_one_exchange(std::vector<Operation> list) {
  std::vector<Operation> out;
  for (const Operation& op : list) {
    const auto same = std::ranges::find_if(out, [&](const Operation& other) {
      return op.name == "attention.all_to_all" && other.name == op.name && other.pass == op.pass;
    });
    if (same == out.end()) {
      out.push_back(op);
    } else {
      same->payload += op.payload;
    }
  }
  return out;
}

/// Where the hand-written list is wrong.
std::vector<Operation> mended(const Scenario& sc, std::vector<Operation> list) {
  const LocalDims d = local_dims(sc);
  for (Operation& op : list) {
    // The router is quantised like other matrices, although its operands are not cast.
    if (op.name == "moe.router" && is_quantized(op.precision)) op.precision = Precision::Bf16;
    // The bias behind a row-cut matrix is added to all tokens, although ranks share the sequence there.
    if (op.name == "attention.output_bias")
      op.bytes = op.bytes * (static_cast<double>(d.sp_tokens) / static_cast<double>(d.tokens));
    // Modules that MLA's up-projections are recomputed with hold whole queries, too.
    const std::uint16_t modules = sc.recipe.recompute.modules;
    if (op.name == "attention.q" && op.pass == Pass::Forward && (modules & kRecomputeMlaUpProjection) != 0)
      op.recomputed = true;
    // Exchanged heads are kept for attention's backward pass; they need not be sent again.
    const RecomputeMode mode = sc.recipe.recompute.mode;
    const bool modules_only = mode == RecomputeMode::Selective || mode == RecomputeMode::SelectiveModules;
    if (op.name == "attention.all_to_all" && modules_only) op.recomputed = false;
    // No matrix reads what the norms behind attention and MLP make: it is not dropped.
    if (op.name == "post_norm" && modules_only) op.recomputed = false;
    // Expanded keys and values are dropped with core attention.
    const bool core = mode == RecomputeMode::Selective || (modules & kRecomputeCoreAttention) != 0;
    if (op.name == "attention.repeat_kv" && op.pass == Pass::Forward && modules_only && core)
      op.recomputed = true;
    // All norms are written out, not only those of the hidden states.
    const bool other_norm = op.name == "attention.latent_norm" || op.name == "embedding.norm";
    if (other_norm && !sc.recipe.fused_norm) {
      const auto rule_of = [&](Elementwise step) {
        return sc.framework.elementwise[static_cast<std::size_t>(step)];
      };
      const ElementwiseRule fused = rule_of(Elementwise::Norm), out = rule_of(Elementwise::UnfusedNorm);
      const bool forward = op.pass == Pass::Forward;
      op.bytes = op.bytes * (forward ? out.forward_passes / fused.forward_passes
                                     : out.backward_passes / fused.backward_passes);
      op.kernels = forward ? out.forward_kernels : out.backward_kernels;
    }
    // Recomputation that stops early is counted by hand below.
    if (sc.framework.recompute_stops_early) op.recomputed = false;
  }
  return list;
}

std::string named(const Operation& op) {
  return fmt::format("{} pass {}", op.name, static_cast<int>(op.pass));
}

/// What tells the lists apart, or nothing.
std::string difference(const Scenario& sc, std::vector<Operation> mine, std::vector<Operation> by_hand) {
  if (sc.framework.recompute_stops_early)
    for (Operation& op : mine) op.recomputed = false;
  // The list by hand knows no adapters: tests/costmodel/step/adapters_time_test.cpp counts theirs.
  std::erase_if(mine, [](const Operation& op) { return op.name.starts_with("adapter."); });
  mine = sorted(with_one_exchange(std::move(mine)));
  by_hand = sorted(mended(sc, std::move(by_hand)));
  for (std::size_t i = 0; i < std::max(mine.size(), by_hand.size()); ++i) {
    if (i >= mine.size()) return fmt::format("{} is missing", named(by_hand[i]));
    if (i >= by_hand.size()) return fmt::format("{} is new", named(mine[i]));
    if (named(mine[i]) != named(by_hand[i]))
      return fmt::format("{} stands for {}", named(mine[i]), named(by_hand[i]));
    if (mine[i].formula != by_hand[i].formula) return fmt::format("{}: formula", named(mine[i]));
    for (const Field& field : fields()) {
      const double a = field.of(mine[i]), b = field.of(by_hand[i]);
      if (std::abs(a - b) > 1e-12 * std::abs(b))
        return fmt::format("{}: {} is {}, by hand {}", named(mine[i]), field.name, a, b);
    }
  }
  return {};
}

/// Questions beyond those that `any_scenario` asks.
Scenario scenario_of_every_kind() {
  Scenario sc = *support::any_scenario();
  const auto chance = [](int percent) { return *rc::gen::inRange(0, 100) < percent; };
  sc.model.parallel_residual = chance(15);
  if (sc.model.parallel_residual && chance(50)) sc.model.norms_per_layer = 1;
  sc.model.embedding_norm = chance(15);
  sc.recipe.fused_norm = chance(85);
  if (chance(15)) sc.recipe.fine_tune = FineTune::Lora;
  if (chance(10)) sc.recipe.recompute = {.mode = RecomputeMode::SelectiveOperators};
  sc.framework.recompute_stops_early = chance(50);
  if (chance(30)) sc.framework.weight_gradient_temporary_bytes = 2;
  sc.framework.zero2_gathers_layers = chance(30);
  sc.model.moe.shared_gate = false;  // by hand nothing, in the program a matrix
  // A cast of whole queries runs again with them; it has the name of all casts.
  const bool whole_queries =
      sc.model.attention.kind == AttentionKind::Latent && sc.model.attention.q_lora_rank == 0;
  RC_PRE(!(whole_queries && is_quantized(sc.recipe.precision) &&
           (sc.recipe.recompute.modules & kRecomputeMlaUpProjection) != 0));
  return sc;
}

RC_GTEST_PROP(operation_list, is_the_one_written_by_hand_in_every_field, ()) {
  const Scenario sc = scenario_of_every_kind();
  RC_LOG() << sc << '\n';
  for (const LayerClass kind : {LayerClass{}, LayerClass{.windowed = true}, LayerClass{.moe = true}}) {
    if (kind.moe && !sc.model.is_moe()) continue;
    const std::string of_layer = difference(sc, layer_operations(sc, kind), hand_written_layer(sc, kind));
    RC_LOG() << of_layer << '\n';
    RC_ASSERT(of_layer.empty());
  }
  const std::string of_head = difference(sc, head_operations(sc), hand_written_head(sc));
  RC_LOG() << of_head << '\n';
  RC_ASSERT(of_head.empty());
  const std::string of_embedding = difference(sc, embedding_operations(sc), hand_written_embedding(sc));
  RC_LOG() << of_embedding << '\n';
  RC_ASSERT(of_embedding.empty());
}

/// What runs again, by name and in forward order.
std::vector<std::string_view> recomputes(const Scenario& sc, bool moe) {
  std::vector<std::string_view> names;
  for (const Operation& op : layer_operations(sc, {.moe = moe})) {
    if (op.recomputed) names.push_back(op.name);
  }
  return names;
}

Scenario recomputed(Recompute recompute) {
  Scenario sc;
  sc.model = {.name = "small", .layers = 8, .hidden = 1024, .vocab = 32000};
  sc.model.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .v_head_dim = 64};
  sc.model.mlp = {.ffn = 2752};
  sc.model.moe = {.experts = 16, .top_k = 2, .expert_ffn = 512};
  sc.recipe.sequence = 2048;
  sc.recipe.global_batch = 1;
  sc.recipe.recompute = std::move(recompute);
  sc.framework.recompute_stops_early = true;
  for (ElementwiseRule& rule : sc.framework.elementwise) rule = {1, 1, 1, 1};
  return sc;
}

using Names = std::vector<std::string_view>;

TEST(early_end_of_recomputation, leaves_out_the_last_matrix_of_a_dense_layer_and_what_follows) {
  const Scenario sc = recomputed({.mode = RecomputeMode::Full});
  EXPECT_EQ(recomputes(sc, false),
            (Names{"norm1", "attention.qkv", "attention.rope", "attention.core", "attention.output",
                   "attention.residual", "norm2", "mlp.up", "mlp.activation"}));
}

/// Where routing weights are multiplied with what the experts made, backward reads it; not where they are
/// multiplied with the activation.
TEST(early_end_of_recomputation, needs_the_last_matrix_of_experts_where_backward_reads_it_but_not_their_sum) {
  Scenario sc = recomputed({.mode = RecomputeMode::Full});
  Names names{"norm1",          "attention.qkv",    "attention.rope",
              "attention.core", "attention.output", "attention.residual",
              "norm2",          "moe.router",       "moe.route",
              "moe.permute",    "moe.expert.up",    "moe.expert.activation"};
  EXPECT_EQ(recomputes(sc, true), names);
  sc.framework.saved[static_cast<std::size_t>(Saved::ExpertOutput)] = {.compute = 1};
  names.push_back("moe.expert.down");
  EXPECT_EQ(recomputes(sc, true), names);
}

/// A norm behind the MLP reads the last matrix's output in backward, and statistics that it makes itself.
TEST(early_end_of_recomputation, needs_the_last_matrix_where_a_norm_follows) {
  Scenario sc = recomputed({.mode = RecomputeMode::Full});
  sc.model.norms_per_layer = 4;
  EXPECT_EQ(recomputes(sc, false), (Names{"norm1", "attention.qkv", "attention.rope", "attention.core",
                                          "attention.output", "post_norm", "attention.residual", "norm2",
                                          "mlp.up", "mlp.activation", "mlp.down", "post_norm"}));
}

TEST(early_end_of_recomputation, leaves_out_the_last_matrix_of_a_module) {
  const Scenario sc = recomputed({.mode = RecomputeMode::SelectiveModules, .modules = kRecomputeMlp});
  EXPECT_EQ(recomputes(sc, false), (Names{"mlp.up", "mlp.activation"}));
  Scenario whole = sc;
  whole.framework.recompute_stops_early = false;
  EXPECT_EQ(recomputes(whole, false), (Names{"mlp.up", "mlp.activation", "mlp.down"}));
}

TEST(operation_list, counts_each_variant_of_a_model_anew) {
  Scenario sc = recomputed({});
  const auto first = layer_operations(sc, {});
  sc.model.attention.qkv_bias = true;
  EXPECT_GT(layer_operations(sc, {}).size(), first.size());
  sc.model.attention.qkv_bias = false;
  EXPECT_EQ(layer_operations(sc, {}).size(), first.size());
}

TEST(operation_list, has_the_gate_of_shared_experts) {
  Scenario sc = recomputed({});
  sc.model.moe.shared_ffn = 512;
  sc.model.moe.shared_gate = true;
  const auto list = layer_operations(sc, {.moe = true});
  const auto gate =
      std::ranges::find_if(list, [](const Operation& o) { return o.name == "moe.shared.gate"; });
  ASSERT_NE(gate, list.end());
  EXPECT_EQ(gate->flops.value(), 2.0 * 2048 * 1024);
}

}  // namespace
}  // namespace hexaplan::costmodel::program
