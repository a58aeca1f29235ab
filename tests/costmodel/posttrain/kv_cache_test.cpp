// What one token takes in the key-value cache, counted by hand; models with published figures stand in
// tests/presets/posttrain.
#include "costmodel/posttrain/kv_cache.h"

#include <gtest/gtest.h>

#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

double cache(const ModelSpec& model, int tp, double tokens, DType type = DType::Bf16) {
  return cache_of_sequence(model, type, tp, tokens).value();
}

TEST(kv_cache, holds_keys_and_values_of_every_layer) {
  const ModelSpec model = example_scenario().model;  // 32 layers, 8 kv heads of 128
  EXPECT_EQ(cache(model, 1, 1), 32 * 8 * (128 + 128) * 2);
  EXPECT_EQ(cache(model, 1, 1000), 1000.0 * 32 * 8 * 256 * 2);
  EXPECT_EQ(cache(model, 1, 1, DType::Fp8), 32 * 8 * 256);
}

TEST(kv_cache, tensor_parallel_ranks_share_heads_until_each_has_one) {
  const ModelSpec model = example_scenario().model;
  EXPECT_EQ(cache(model, 4, 1), 32 * 2 * 256 * 2);
  EXPECT_EQ(cache(model, 8, 1), 32 * 1 * 256 * 2);
  EXPECT_EQ(cache(model, 16, 1), cache(model, 8, 1));
}

TEST(kv_cache, a_latent_is_whole_on_every_rank) {
  ModelSpec model = example_scenario().model;
  model.attention.kind = AttentionKind::Latent;
  model.attention.kv_lora_rank = 512;
  model.attention.qk_rope_dim = 64;
  EXPECT_EQ(cache(model, 1, 1), 32 * 576 * 2);
  EXPECT_EQ(cache(model, 8, 1), 32 * 576 * 2);
}

TEST(kv_cache, windowed_layers_keep_their_window) {
  ModelSpec model = example_scenario().model;
  model.attention.window = 1024;
  model.attention.global_period = 2;  // 16 layers of each kind
  EXPECT_EQ(cache(model, 1, 1000), 1000.0 * 32 * 8 * 256 * 2);
  EXPECT_EQ(cache(model, 1, 5000), (16 * 5000.0 + 16 * 1024) * 8 * 256 * 2);
}

TEST(kv_cache, recurrent_layers_keep_one_state_however_long_the_sequence) {
  ModelSpec model = example_scenario().model;
  model.recurrent = {.kind = RecurrentKind::GatedDeltaNet,
                     .heads = 32,
                     .head_dim = 128,
                     .groups = 16,
                     .state = 64,
                     .kernel = 4,
                     .attention_period = 4};  // 24 layers keep a state, 8 attend
  const double states = 24 * (32 * 128 * 64 * 4 + 3 * (32 * 128 + 2 * 16 * 64) * 2);
  EXPECT_EQ(cache(model, 1, 1000), states + 1000.0 * 8 * 8 * 256 * 2);
  EXPECT_EQ(cache(model, 1, 100000) - cache(model, 1, 1000), 99000.0 * 8 * 8 * 256 * 2);
  EXPECT_EQ(cache(model, 4, 0), states / 4);
  EXPECT_EQ(cached_attention_flops(model, 1, 1000).value(), 2.0 * 8 * 1000 * 32 * (128 + 128));
}

TEST(kv_cache, selective_scans_convolve_their_channels_alone) {
  ModelSpec model = example_scenario().model;
  model.recurrent = {.kind = RecurrentKind::Mamba1,
                     .heads = 8192,
                     .head_dim = 1,
                     .groups = 1,
                     .state = 16,
                     .kernel = 4,
                     .attention_period = 4};
  EXPECT_EQ(cache(model, 1, 0), 24 * (8192.0 * 16 * 4 + 3 * 8192 * 2));
}

TEST(kv_cache, attention_multiplies_every_cached_token_with_every_head) {
  const ModelSpec model = example_scenario().model;  // 32 heads of 128
  EXPECT_EQ(cached_attention_flops(model, 1, 1000).value(), 2.0 * 32 * 1000 * 32 * (128 + 128));
  EXPECT_EQ(cached_attention_flops(model, 4, 1000).value(), 2.0 * 32 * 1000 * 8 * (128 + 128));
}

}  // namespace
}  // namespace hexaplan::costmodel
