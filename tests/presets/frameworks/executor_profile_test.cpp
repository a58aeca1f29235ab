#include <gtest/gtest.h>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/program/working_sets.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/models/find_model.h"

namespace hexaplan::presets {
namespace {

using namespace costmodel;

Scenario llama_8b(int tp, bool sp) {
  Scenario sc;
  sc.model = find_model("llama-3.1-8b");
  sc.framework = find_framework("hexaplan");
  sc.recipe = {.sequence = 8192, .micro_batch = 1, .global_batch = 1};
  sc.layout.tp = tp;
  sc.layout.sp = sp;
  return sc;
}

double bytes(const TensorLedger& ledger) {
  Bytes sum;
  for (const TensorEntry& entry : ledger) sum += entry.size();
  return sum.value();
}

double saved_per_token(const Scenario& sc) {
  TensorLedger ledger;
  program::append_kept_values(sc, local_dims(sc), {}, ledger);
  return bytes(ledger) / static_cast<double>(sc.recipe.sequence);
}

// The executor keeps 8h + 2(a+2k)d + 2ad + 4a + 6f + 8 bytes per token and layer (docs/formulas.md#M2).
TEST(executor_profile, keeps_139400_bytes_per_token_of_a_llama_3_8b_layer) {
  EXPECT_EQ(saved_per_token(llama_8b(1, false)), 139400);
}

TEST(executor_profile, sequence_parallelism_divides_everything_saved) {
  EXPECT_EQ(saved_per_token(llama_8b(8, true)), 139400 / 8.0);
}

TEST(executor_profile, without_sequence_parallelism_the_residual_stream_is_not_divided) {
  const double stream = 8 * 4096 + 8;  // two norm inputs, two outputs, two rstd
  EXPECT_EQ(saved_per_token(llama_8b(8, false)), stream + (139400 - stream) / 8.0);
}

TEST(executor_profile, full_recompute_keeps_8192_bytes_per_token) {
  const Scenario sc = llama_8b(1, false);
  TensorLedger ledger;
  append_checkpoint_entry(sc, local_dims(sc), {}, 1, ledger);
  EXPECT_EQ(bytes(ledger) / 8192, 8192);
}

}  // namespace
}  // namespace hexaplan::presets
