#include <gtest/gtest.h>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/local_dims.h"
#include "presets/frameworks/framework_preset.h"

namespace hexaplan::presets {
namespace {

using namespace costmodel;

/// Saved activations of one layer in copies of 2·s·b·h.
double copies(std::string_view framework, const ModelSpec& model) {
  Scenario sc;
  sc.model = model;
  sc.model.layers = 1, sc.model.vocab = 32000;
  sc.recipe = {.sequence = 4096, .micro_batch = 1, .global_batch = 1};
  sc.recipe.parameter_dtype = DType::Bf16;
  sc.framework = find_framework(framework);
  TensorLedger ledger;
  program::append_kept_values(sc, local_dims(sc), {}, ledger);
  return sum_alive(ledger, kBackward).activations.value() / (2.0 * 4096 * static_cast<double>(model.hidden));
}

ModelSpec llama_like(std::int64_t hidden, std::int64_t ffn, std::int64_t heads, std::int64_t kv_heads,
                     std::int64_t head_dim, bool qk_norm) {
  ModelSpec model;
  model.hidden = hidden;
  model.mlp.ffn = ffn;
  model.attention = {
      .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .v_head_dim = head_dim, .qk_norm = qk_norm};
  return model;
}

// Measured on one layer of eager Hugging Face models (stas00/ml-engineering
// training/performance/README.md), with a transformers that repeated keys and values to all heads; what 5.23
// keeps is exact in oracle_test.cpp.
TEST(eager_layers, keep_what_was_measured) {
  struct Case {
    std::string_view model;
    ModelSpec spec;
    double measured;
  };
  const Case cases[] = {
      {"Llama-3.1-8B", llama_like(4096, 14336, 32, 8, 128, false), 28.0},
      {"SmolLM2-360M", llama_like(960, 2560, 15, 5, 64, false), 24.0},
      {"Qwen3-4B", llama_like(2560, 9728, 32, 8, 128, true), 38.0},
      {"R1-Qwen3-8B", llama_like(4096, 12288, 32, 8, 128, true), 29.8},
  };
  for (const Case& c : cases) EXPECT_NEAR(copies("hf-eager", c.spec) / c.measured, 0.93, 0.07) << c.model;
}

// Transformer Engine's fused layer (MooreThreads/SimuMax@4dcaae5).
TEST(eager_layers, fused_ones_keep_17_copies) {
  EXPECT_NEAR(copies("megatron", llama_like(4096, 14336, 32, 8, 128, false)), 17.0, 0.05);
}

}  // namespace
}  // namespace hexaplan::presets
