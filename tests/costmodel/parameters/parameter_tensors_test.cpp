#include "costmodel/parameters/parameter_tensors.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace hexaplan::costmodel {
namespace {

AttentionSpec grouped(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim) {
  return {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .v_head_dim = head_dim};
}

ModelSpec llama_3_8b() {
  return {
      .layers = 32, .hidden = 4096, .vocab = 128256, .attention = grouped(32, 8, 128), .mlp = {.ffn = 14336}};
}

ModelSpec mixtral_8x7b() {
  ModelSpec m = llama_3_8b();
  m.vocab = 32000;
  m.moe = {.experts = 8, .top_k = 2, .expert_ffn = 14336};
  return m;
}

/// Biases everywhere, learned positions, plain MLP, tied.
ModelSpec gpt2() {
  ModelSpec m{.layers = 12,
              .hidden = 768,
              .vocab = 50257,
              .attention = grouped(12, 12, 64),
              .mlp = {.ffn = 3072, .gated = false, .bias = true, .activation = Activation::Gelu},
              .norm = NormKind::Layer,
              .norm_bias = true,
              .positions = PositionKind::Learned,
              .max_positions = 1024,
              .tied_embeddings = true};
  m.attention.qkv_bias = m.attention.output_bias = true;
  return m;
}

ModelSpec deepseek_v3() {
  return {.layers = 61,
          .hidden = 7168,
          .vocab = 129280,
          .attention = {.kind = AttentionKind::Latent,
                        .heads = 128,
                        .kv_heads = 128,
                        .head_dim = 192,
                        .v_head_dim = 128,
                        .q_lora_rank = 1536,
                        .kv_lora_rank = 512,
                        .qk_nope_dim = 128,
                        .qk_rope_dim = 64},
          .mlp = {.ffn = 18432},
          .moe = {.experts = 256,
                  .top_k = 8,
                  .expert_ffn = 2048,
                  .shared_ffn = 2048,
                  .router_correction = true,
                  .first_k_dense = 3},
          .mtp_layers = 1};
}

/// Every feature at once that a grouped-attention MoE layer can have.
ModelSpec everything() {
  ModelSpec m = mixtral_8x7b();
  m.attention.qkv_bias = m.attention.output_bias = m.attention.qk_norm = m.attention.sinks = true;
  m.mlp.bias = m.norm_bias = m.head_bias = m.embedding_norm = true;
  m.norm = NormKind::Layer;
  m.norms_per_layer = 4;
  m.positions = PositionKind::Learned;
  m.max_positions = 4096;
  m.moe.shared_ffn = 4096;
  m.moe.shared_gate = m.moe.router_correction = m.moe.router_bias = m.moe.expert_bias = true;
  m.moe.period = 2;
  return m;
}

std::vector<ParameterTensor> layer_tensors(const ModelSpec& model, LayerClass kind) {
  std::vector<ParameterTensor> tensors;
  append_layer_parameters(model, kind, tensors);
  return tensors;
}

/// Every tensor of one layer of either kind, the embedding and the head.
std::vector<ParameterTensor> all_tensors(const ModelSpec& model) {
  std::vector<ParameterTensor> tensors;
  append_layer_parameters(model, {.moe = false}, tensors);
  if (model.is_moe()) {
    append_layer_parameters(model, {.moe = true}, tensors);
  }
  append_embedding_parameters(model, tensors);
  append_head_parameters(model, true, tensors);
  append_mtp_parameters(model, tensors);
  return tensors;
}

ParameterTensor named(const std::vector<ParameterTensor>& tensors, std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
  EXPECT_NE(found, tensors.end()) << name;
  return found == tensors.end() ? ParameterTensor{} : *found;
}

// Totals: safetensors metadata of the published checkpoints; see tests/presets/models for the whole list.
TEST(count_parameters, gives_the_published_totals) {
  EXPECT_EQ(count_parameters(llama_3_8b()).total, 8'030'261'248);
  EXPECT_EQ(count_parameters(mixtral_8x7b()).total, 46'702'792'704);
  EXPECT_EQ(count_parameters(gpt2()).total, 124'439'808);
  EXPECT_EQ(count_parameters(deepseek_v3()).total, 671'026'419'200);
}

TEST(count_parameters, active_parameters_hold_top_k_and_shared_experts_only) {
  EXPECT_EQ(count_parameters(llama_3_8b()).active, count_parameters(llama_3_8b()).total);
  // arXiv:2401.04088 §1: "13B active parameters"; 6 of 8 experts of 3·4096·14336 in 32 layers stay idle.
  EXPECT_EQ(count_parameters(mixtral_8x7b()).active, 46'702'792'704 - 32LL * 6 * 3 * 4096 * 14336);
  // arXiv:2412.19437 §1: 37B of 671B are activated for each token (here with the input embedding, 0.93B).
  EXPECT_NEAR(static_cast<double>(count_parameters(deepseek_v3()).active), 37.55e9, 0.01e9);
}

TEST(count_parameters, embedding_head_and_mtp_stand_apart) {
  const ParameterCount llama = count_parameters(llama_3_8b());
  EXPECT_EQ(llama.embedding, 128256LL * 4096);
  EXPECT_EQ(llama.head, 128256LL * 4096);
  EXPECT_EQ(llama.mtp, 0);
  const ParameterCount gpt = count_parameters(gpt2());
  EXPECT_EQ(gpt.embedding, (50257LL + 1024) * 768);
  EXPECT_EQ(gpt.head, 0);
  // deepseek-ai/DeepSeek-V3 README_WEIGHTS.md: the MTP module has 11.5B unique parameters.
  EXPECT_NEAR(static_cast<double>(count_parameters(deepseek_v3()).mtp), 11.6e9, 0.1e9);
}

TEST(append_layer_parameters, names_and_shapes_of_a_llama_layer) {
  std::vector<std::string> lines;
  for (const ParameterTensor& t : layer_tensors(llama_3_8b(), {})) {
    lines.push_back(std::string{t.name} + " " + std::to_string(t.rows) + "x" + std::to_string(t.cols));
  }
  EXPECT_THAT(lines, testing::ElementsAre("norm1.weight 4096x1", "attention.query.weight 4096x4096",
                                          "attention.key_value.weight 2048x4096",
                                          "attention.output.weight 4096x4096", "norm2.weight 4096x1",
                                          "mlp.gate_up.weight 28672x4096", "mlp.down.weight 4096x14336"));
}

TEST(append_layer_parameters, parallel_residual_with_one_norm_has_no_second_norm) {
  ModelSpec gpt_j = gpt2();
  gpt_j.parallel_residual = true;
  gpt_j.norms_per_layer = 1;
  for (const ParameterTensor& t : layer_tensors(gpt_j, {})) {
    EXPECT_NE(t.name.substr(0, 5), "norm2");
  }
}

TEST(append_layer_parameters, four_norms_sit_before_and_after_attention_and_mlp) {
  std::vector<std::string_view> norms;
  for (const ParameterTensor& t : layer_tensors(everything(), {})) {
    if (t.name.find("norm") != std::string_view::npos && t.name.ends_with("weight") && t.rows == 4096) {
      norms.push_back(t.name);
    }
  }
  EXPECT_THAT(norms, testing::ElementsAre("norm1.weight", "attention_post_norm.weight", "norm2.weight",
                                          "mlp_post_norm.weight"));
}

TEST(append_layer_parameters, latent_attention_replicates_what_goes_down_and_cuts_what_goes_up) {
  const auto tensors = layer_tensors(deepseek_v3(), {.moe = true});
  for (std::string_view down : {"attention.query_down.weight", "attention.query_down_norm.weight",
                                "attention.key_value_down.weight", "attention.key_value_down_norm.weight"}) {
    EXPECT_EQ(named(tensors, down).cut, Cut::Replicated) << down;
  }
  EXPECT_EQ(named(tensors, "attention.key_value_down.weight").rows, 512 + 64);  // latent and rotary part
  EXPECT_EQ(named(tensors, "attention.query_up.weight").cut, Cut::Column);
  EXPECT_EQ(named(tensors, "attention.key_value_up.weight").cut, Cut::Column);
  EXPECT_EQ(named(tensors, "attention.key_value_up.weight").rows, 128 * (128 + 128));
  EXPECT_EQ(named(tensors, "attention.output.weight").cut, Cut::Row);
}

TEST(append_layer_parameters, latent_attention_without_query_rank_projects_directly) {
  ModelSpec lite = deepseek_v3();
  lite.attention.q_lora_rank = 0;
  const auto tensors = layer_tensors(lite, {});
  EXPECT_EQ(named(tensors, "attention.query.weight").cols, lite.hidden);
  EXPECT_EQ(named(tensors, "attention.query.weight").cut, Cut::Column);
}

TEST(append_layer_parameters, never_more_tensors_than_the_stated_bound) {
  ModelSpec latent = everything();
  latent.attention.kind = AttentionKind::Latent;
  latent.attention.q_lora_rank = latent.attention.kv_lora_rank = 512;
  for (const ModelSpec& model : {everything(), latent}) {
    EXPECT_LE(layer_tensors(model, {.moe = true}).size(), static_cast<std::size_t>(kMaxLayerTensors));
  }
}

TEST(parameter_tensors, no_two_tensors_of_one_layer_share_a_name) {
  const auto tensors = layer_tensors(everything(), {.moe = true});
  std::set<std::string_view> names;
  for (const ParameterTensor& t : tensors) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
  }
}

TEST(append_head_parameters, tied_models_copy_the_embedding_to_the_last_stage_only_when_it_is_elsewhere) {
  const auto has_head = [](const ModelSpec& model, bool elsewhere) {
    std::vector<ParameterTensor> tensors;
    append_head_parameters(model, elsewhere, tensors);
    return std::any_of(tensors.begin(), tensors.end(), [](const auto& t) { return t.name == "head.weight"; });
  };
  EXPECT_FALSE(has_head(gpt2(), false));
  EXPECT_TRUE(has_head(gpt2(), true));
  EXPECT_TRUE(has_head(llama_3_8b(), false));
}

TEST(padded_vocab, is_a_multiple_of_the_unit_on_every_rank) {
  EXPECT_EQ(padded_vocab(50257, 128, 1), 50304);  // Megatron-LM's well-known GPT-2 figure
  EXPECT_EQ(padded_vocab(50257, 128, 8), 51200);
  EXPECT_EQ(padded_vocab(32000, 128, 2), 32000);
  EXPECT_EQ(padded_vocab(50257, 1, 2), 50258);
  EXPECT_EQ(padded_vocab(1, 128, 1), 128);
}

struct ShardCase {
  std::string name;
  std::function<ModelSpec()> model;
  int tp, ep, etp;
};
class ShardsAddUp : public testing::TestWithParam<ShardCase> {};

/// Copies of each element over the ranks of one stage (tp for dense tensors, ep·etp for experts), by cut.
std::int64_t stated_copies(const ParameterTensor& t, const ModelSpec& model, const Layout& layout) {
  switch (t.cut) {
    case Cut::Replicated:
      return layout.tp;
    case Cut::KeyValue:
      return std::max<std::int64_t>(1, layout.tp / model.attention.kv_heads);
    case Cut::ExpertReplicated:
      return layout.expert_tensor();
    default:
      return 1;
  }
}

TEST_P(ShardsAddUp, to_the_whole_tensor_times_the_stated_copies) {
  const ModelSpec model = GetParam().model();
  const Layout layout{.dp = 64, .tp = GetParam().tp, .ep = GetParam().ep, .etp = GetParam().etp};
  for (const ParameterTensor& t : all_tensors(model)) {
    const std::int64_t ranks = is_expert(t) ? layout.ep * layout.expert_tensor() : layout.tp;
    const std::int64_t whole =
        t.cut == Cut::Vocabulary ? padded_vocab(t.rows, 128, layout.tp) * t.cols : t.elements();
    EXPECT_EQ(elements_on_rank(t, model, layout, 128) * ranks, whole * stated_copies(t, model, layout))
        << t.name;
  }
}

INSTANTIATE_TEST_SUITE_P(table, ShardsAddUp,
                         testing::Values(ShardCase{"one_rank", everything, 1, 1, 0},
                                         ShardCase{"dense_tp8", llama_3_8b, 8, 1, 0},
                                         ShardCase{"tp_beyond_the_kv_heads", llama_3_8b, 32, 1, 0},
                                         ShardCase{"every_feature_tp4", everything, 4, 1, 0},
                                         ShardCase{"every_feature_tp16_ep8_etp1", everything, 16, 8, 1},
                                         ShardCase{"experts_cut_twice", mixtral_8x7b, 4, 4, 2},
                                         ShardCase{"latent_tp8_ep64", deepseek_v3, 8, 64, 1},
                                         ShardCase{"gpt_tp4", gpt2, 4, 1, 0}),
                         [](const auto& row) { return row.param.name; });

TEST(elements_on_rank, one_rank_without_padding_holds_every_element) {
  for (const ModelSpec& model : {everything(), llama_3_8b(), gpt2(), deepseek_v3()}) {
    for (const ParameterTensor& t : all_tensors(model)) {
      EXPECT_EQ(elements_on_rank(t, model, Layout{}, 1), t.elements()) << t.name;
    }
  }
}

TEST(elements_on_rank, uneven_cuts_round_up) {
  const ParameterTensor column{.rows = 10, .cols = 3, .cut = Cut::Column};
  const ParameterTensor row{.rows = 3, .cols = 10, .cut = Cut::Row};
  const ParameterTensor experts{.rows = 2, .cols = 2, .count = 10, .cut = Cut::ExpertColumn};
  EXPECT_EQ(elements_on_rank(column, {}, {.tp = 4}, 1), 3 * 3);
  EXPECT_EQ(elements_on_rank(row, {}, {.tp = 4}, 1), 3 * 3);
  EXPECT_EQ(elements_on_rank(experts, {}, {.ep = 4}, 1), 3 * 4);
}

TEST(elements_on_rank, experts_follow_tp_unless_they_have_a_degree_of_their_own) {
  const ParameterTensor experts{.rows = 8, .cols = 2, .count = 8, .cut = Cut::ExpertColumn};
  EXPECT_EQ(elements_on_rank(experts, {}, {.tp = 4, .ep = 2}, 1), 4 * 2 * 2);
  EXPECT_EQ(elements_on_rank(experts, {}, {.tp = 4, .ep = 2, .etp = 1}, 1), 4 * 8 * 2);
}

TEST(class_of_layer, mixes_windows_and_experts_as_the_model_says) {
  ModelSpec m = mixtral_8x7b();
  m.moe.first_k_dense = 1;
  m.moe.dense_layers = {3};
  m.attention.window = 1024;
  m.attention.global_period = 6;
  m.attention.global_layers = {0, 2};
  EXPECT_EQ(class_of_layer(m, 0), (LayerClass{.moe = false, .windowed = false}));
  EXPECT_EQ(class_of_layer(m, 1), (LayerClass{.moe = true, .windowed = true}));
  EXPECT_EQ(class_of_layer(m, 2), (LayerClass{.moe = true, .windowed = false}));
  EXPECT_EQ(class_of_layer(m, 3), (LayerClass{.moe = false, .windowed = true}));
  EXPECT_EQ(class_of_layer(m, 5), (LayerClass{.moe = true, .windowed = false}));
}

TEST(class_of_layer, layers_without_positions_are_of_rotary_models_alone) {
  ModelSpec m = mixtral_8x7b();
  m.attention.unrotated_period = 4;
  m.attention.unrotated_layers = {0};
  EXPECT_TRUE(class_of_layer(m, 0).unrotated);
  EXPECT_FALSE(class_of_layer(m, 2).unrotated);
  EXPECT_TRUE(class_of_layer(m, 3).unrotated);
  m.positions = PositionKind::None;
  EXPECT_FALSE(class_of_layer(m, 3).unrotated);
}

TEST(append_layer_parameters, norms_of_whole_rows_are_cut_with_their_heads) {
  ModelSpec m = mixtral_8x7b();
  m.attention.qk_norm = true;
  std::vector<ParameterTensor> tensors;
  const auto on_rank = [&](QkNormScope scope, std::string_view name) {
    m.attention.qk_norm_scope = scope;
    tensors.clear();
    append_layer_parameters(m, {}, tensors);
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const ParameterTensor& t) { return t.name == name; });
    return elements_on_rank(*found, m, {.tp = 4}, 1);
  };
  EXPECT_EQ(on_rank(QkNormScope::Head, "attention.query_norm.weight"), 128);
  EXPECT_EQ(on_rank(QkNormScope::Row, "attention.query_norm.weight"), 32 / 4 * 128);
  EXPECT_EQ(on_rank(QkNormScope::Row, "attention.key_norm.weight"), 8 / 4 * 128);
}

}  // namespace
}  // namespace hexaplan::costmodel
