// Models said by their dimensions on the command line.
#include "presets/models/model_text.h"

#include <gmock/gmock.h>

#include "presets/json/input_error.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionKind;
using costmodel::ModelSpec;
using testing::HasSubstr;

TEST(model_text, leaves_what_is_not_said_to_llama) {
  const ModelSpec m = parse_model_text("layers=4 hidden=256 heads=8 ffn=688 vocab=1000", "--model");
  EXPECT_EQ(m.layers, 4);
  EXPECT_EQ(m.attention.kv_heads, 8);
  EXPECT_EQ(m.attention.head_dim, 32);
  EXPECT_EQ(m.attention.v_head_dim, 32);
  EXPECT_TRUE(m.mlp.gated);
  EXPECT_EQ(m.norm, costmodel::NormKind::Rms);
  EXPECT_FALSE(m.is_moe());
}

TEST(model_text, reads_experts_latent_attention_and_flags) {
  const ModelSpec m = parse_model_text(
      "vocab=64 ffn=24 heads=4 hidden=16 layers=3 experts=8 top_k=2 shared_ffn=12 kv_lora=6 qk_nope=4 "
      "qk_rope=2 "
      "v_head_dim=4 tied",
      "--model");
  EXPECT_EQ(m.moe.expert_ffn, 24);
  EXPECT_EQ(m.attention.kind, AttentionKind::Latent);
  EXPECT_EQ(m.attention.head_dim, 6);
  EXPECT_TRUE(m.tied_embeddings);
}

TEST(model_text, is_written_as_short_as_it_reads_back) {
  for (const char* text :
       {"layers=4 hidden=256 heads=8 ffn=688 vocab=1000",
        "layers=4 hidden=256 heads=8 ffn=688 vocab=1000 kv_heads=2 head_dim=64 window=128 global_period=2",
        "layers=3 hidden=16 heads=4 ffn=24 vocab=64 experts=8 top_k=2 expert_ffn=8 first_k_dense=1 tied",
        "layers=2 hidden=16 heads=4 ffn=24 vocab=64 mtp_layers=2",
        "layers=3 hidden=16 heads=4 ffn=24 vocab=64 q_lora=10 kv_lora=6 qk_nope=4 qk_rope=2 v_head_dim=4",
        "layers=2 hidden=16 heads=4 ffn=64 vocab=64 max_positions=32 qkv_bias output_bias mlp_bias "
        "layer_norm "
        "norm_bias gelu learned_positions"}) {
    EXPECT_EQ(to_model_text(parse_model_text(text, "--model")), text);
  }
}

TEST(model_text, says_what_is_wrong_and_what_was_meant) {
  const struct {
    const char *text, *said;
  } cases[] = {
      {"layers=4 hiden=256", "hidden"},
      {"layers=4 layers=5", "only once"},
      {"layers=x hidden=16 heads=4 ffn=24 vocab=64", "whole number"},
      {"layers=0 hidden=16 heads=4 ffn=24 vocab=64", "from 1"},
      {"layers=4 hidden=16 heads=4 ffn=24", "vocab="},
  };
  for (const auto& c : cases) {
    try {
      static_cast<void>(parse_model_text(c.text, "--model"));
      ADD_FAILURE() << c.text;
    } catch (const InputError& error) {
      EXPECT_EQ(error.problem.field, "--model");
      EXPECT_THAT(error.what(), HasSubstr(c.said)) << c.text;
    }
  }
}

TEST(model_text, stands_where_a_preset_may_stand) {
  const ModelSpec m = look_up_model(JsonValue{"layers=4 hidden=256 heads=8 ffn=688 vocab=1000"});
  EXPECT_EQ(m.hidden, 256);
}

}  // namespace
}  // namespace hexaplan::presets
