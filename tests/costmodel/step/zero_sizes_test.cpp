// Sizes by which ZeRO moves and holds parameters where modules gather their own (DeepSpeed): what each of
// them keeps, sends and hides.
#include <gtest/gtest.h>

#include <string_view>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/shard_sizes.h"
#include "costmodel/step/estimate.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

// Llama-3-8B: query and output, key and value, gate and up and down; two norms.
constexpr double kSquare = 4096.0 * 4096, kKeyValue = 4096.0 * 1024, kFeedForward = 4096.0 * 14336;
constexpr double kMatrices = 2 * kSquare + 2 * kKeyValue + 3 * kFeedForward, kNorms = 2 * 4096.0;
constexpr double kHead = 128256.0 * 4096, kLayers = 32;

Scenario by_module(int stage = 3) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 16};
  sc.layout.sharding.stage = stage;
  sc.recipe.global_batch = 16;  // one micro-batch
  FrameworkProfile& f = sc.framework;
  f.contiguous_gradient_buffer = false;
  f.gathers_by_module = f.whole_gradient_bucket = f.abilities.zero_sizes = true;
  f.gradient_dtype = f.reduce_dtype = DType::Bf16;
  f.gradient_bucket_elements = 5e8;
  f.gather_live_elements = f.gather_reuse_elements = f.update_group_elements = 1e9;
  f.gather_prefetch_elements = 5e7;
  f.gather_persistent_elements = 1e5;
  f.optimizer_transient_bytes = 6;
  return sc;
}

double bytes_of(const Scenario& sc, std::string_view name, Instant instant) {
  double sum = 0;
  for (const TensorEntry& entry : build_ledger(sc, 0)) {
    if (entry.name == name && (entry.alive & instant) != 0) sum += entry.size().value();
  }
  return sum;
}

struct Gathered {
  double bytes = 0, messages = 0;
};
Gathered gathered(const Scenario& sc, Pass pass) {
  Gathered sum;
  for (const Operation& op : step_operations(sc, 0)) {
    if (op.name != "parameter.gather" || op.pass != pass) continue;
    sum.bytes += op.payload.value() * op.count;
    sum.messages += op.count;
  }
  return sum;
}

Seconds waits(const Scenario& sc) {
  return estimate_step(sc, {}).time.data_parallel;
}

TEST(zero_sizes, the_bucket_of_gradients_is_whole_and_stays_under_zero3) {
  Scenario sc = by_module();
  for (const Instant instant : {kForward, kBackward, kOptimizer, kIdle})
    EXPECT_EQ(bytes_of(sc, "gradient.bucket", instant), 2 * 5e8);
  sc.recipe.sizes.reduce_bucket = 50'000'000;
  EXPECT_EQ(bytes_of(sc, "gradient.bucket", kIdle), 2 * 5e7);
}

TEST(zero_sizes, below_zero3_the_bucket_is_a_backward_s_and_there_are_two_where_reductions_overlap) {
  Scenario sc = by_module(2);
  sc.recipe.execution.data_overlap = true;
  EXPECT_EQ(bytes_of(sc, "gradient.bucket", kBackward), 2 * 2 * 5e8);
  EXPECT_EQ(bytes_of(sc, "gradient.bucket", kOptimizer), 0);
  sc.recipe.execution.data_overlap = false;
  EXPECT_EQ(bytes_of(sc, "gradient.bucket", kBackward), 2 * 5e8);
}

TEST(zero_sizes, smaller_buckets_are_reduced_more_often) {
  Scenario sc = by_module();
  const auto reductions = [&] {
    double count = 0;
    for (const Operation& op : step_operations(sc, 0)) count += op.name == "gradient.reduce" ? op.count : 0;
    return count;
  };
  const double usual = reductions();
  sc.recipe.sizes.reduce_bucket = 100'000'000;
  EXPECT_GT(reductions(), 2 * usual);
}

TEST(zero_sizes, a_shard_is_updated_group_by_group_under_zero3) {
  Scenario sc = by_module();
  const double shard = (kLayers * (kMatrices + kNorms) + 2 * kHead + 4096) / 16;
  ASSERT_LT(shard, 1e9);
  EXPECT_NEAR(bytes_of(sc, "optimizer.temporaries", kOptimizer), 6 * shard, 16);
  sc.recipe.sizes.update_group = 100'000'000;
  EXPECT_EQ(bytes_of(sc, "optimizer.temporaries", kOptimizer), 6e8);
  sc.layout.sharding.stage = 2;
  EXPECT_NEAR(bytes_of(sc, "optimizer.temporaries", kOptimizer), 6 * shard, 16);
}

TEST(zero_sizes, what_runs_again_soon_stays_gathered_and_is_not_gathered_again) {
  Scenario sc = by_module();
  const double layers = kLayers * kMatrices, ends = 2 * kHead;  // embedding, head; norms stay
  sc.recipe.sizes.reuse = 0;
  EXPECT_NEAR(gathered(sc, Pass::Forward).bytes, 2 * (layers + ends), 1);
  EXPECT_NEAR(gathered(sc, Pass::BackwardData).bytes, 2 * (layers + ends), 1);
  EXPECT_EQ(bytes_of(sc, "parameter.gathered", kForward), 2 * kFeedForward);
  // Between the end of a layer's forward and its backward lie the layers behind it and the head, twice each.
  const double kept = 1e9;
  sc.recipe.sizes.reuse = static_cast<std::int64_t>(2 * (kept + kHead));
  EXPECT_NEAR(gathered(sc, Pass::BackwardData).bytes, 2 * (layers + ends - kept), 1);
  EXPECT_NEAR(bytes_of(sc, "parameter.gathered", kForward), 2 * kept, 1);
  EXPECT_NEAR(bytes_of(sc, "parameter.gathered", kLoss), 2 * (kHead + kept), 1);
  sc.recipe.sizes.reuse = 1'000'000'000'000;
  EXPECT_NEAR(gathered(sc, Pass::BackwardData).bytes, 2 * ends, 1);
}

TEST(zero_sizes, a_recomputed_layer_is_gathered_once_more_unless_it_stays_until_its_backward) {
  Scenario sc = by_module();
  sc.recipe.recompute.mode = RecomputeMode::Full;
  const double layers = kLayers * kMatrices, ends = 2 * kHead;
  sc.recipe.sizes.reuse = 0;
  EXPECT_NEAR(gathered(sc, Pass::BackwardData).bytes, 2 * (2 * layers + ends), 1);
  sc.recipe.sizes.reuse = static_cast<std::int64_t>(2 * kMatrices);  // its second forward and its backward
  EXPECT_NEAR(gathered(sc, Pass::BackwardData).bytes, 2 * (layers + ends), 1);
}

TEST(zero_sizes, a_table_that_is_embedding_and_head_is_gathered_for_both_and_has_one_gradient) {
  Scenario apart = by_module(), tied = by_module();
  tied.model.tied_embeddings = true;
  for (Scenario* sc : {&apart, &tied}) sc->recipe.sizes.reuse = 0;
  for (const Pass pass : {Pass::Forward, Pass::BackwardData}) {
    EXPECT_NEAR(gathered(tied, pass).bytes, gathered(apart, pass).bytes, 1);
    EXPECT_EQ(gathered(tied, pass).messages, gathered(apart, pass).messages);
  }
  EXPECT_NEAR(bytes_of(tied, "parameter.gathered", kLoss), 2 * kHead, 1);
  // The head's part waits for the embedding's, and reaches no bucket before.
  EXPECT_NEAR(
      bytes_of(tied, "gradient.unsharded", kBackward) - bytes_of(apart, "gradient.unsharded", kBackward),
      2 * kHead, 1);
  tied.recipe.sizes.persistent = static_cast<std::int64_t>(kHead);  // it stays whole: nothing to gather
  EXPECT_EQ(bytes_of(tied, "parameter.gathered", kLoss), 0);
  tied.recipe.sizes.persistent.reset();
  tied.model.outputs = 2;  // a classifier's head is a matrix of its own, which is small enough to stay
  EXPECT_LT(bytes_of(tied, "parameter.gathered", kLoss), 1);
}

TEST(zero_sizes, small_tensors_stay_whole_and_are_gathered_once_per_step) {
  Scenario sc = by_module();
  const double norms = kLayers * kNorms + 4096;
  EXPECT_EQ(bytes_of(sc, "parameter.persistent", kIdle), 2 * norms);
  EXPECT_EQ(gathered(sc, Pass::Step).bytes, 2 * norms);
  EXPECT_EQ(gathered(sc, Pass::Forward).messages, kLayers * 7 + 2);
  sc.recipe.sizes.persistent = static_cast<std::int64_t>(kSquare);  // attention's four
  const double whole = norms + kLayers * 2 * (kSquare + kKeyValue);
  EXPECT_EQ(bytes_of(sc, "parameter.persistent", kIdle), 2 * whole);
  EXPECT_EQ(gathered(sc, Pass::Step).bytes, 2 * whole);
  EXPECT_EQ(gathered(sc, Pass::Forward).messages, kLayers * 3 + 2);
  sc.recipe.sizes.persistent = 0;
  EXPECT_EQ(bytes_of(sc, "parameter.persistent", kIdle), 0);
  EXPECT_EQ(gathered(sc, Pass::Forward).messages, kLayers * 9 + 3);
}

TEST(zero_sizes, whole_tensors_are_fetched_ahead_until_the_bucket_is_full_and_room_is_left) {
  const ShardSizes sizes{.prefetch = 5e7, .live = 1e9};
  EXPECT_EQ(fetched_ahead(sizes, 1e7), 5e7);
  EXPECT_EQ(fetched_ahead(sizes, 2e8), 2e8) << "one at least";
  EXPECT_EQ(fetched_ahead({.prefetch = 0, .live = 1e9}, 1e7), 0);
  EXPECT_EQ(fetched_ahead({.prefetch = 5e7, .live = 1e7}, 1e7), 0) << "nothing beyond what may be alive";
  Scenario sc = by_module();
  const Seconds usual = waits(sc);
  sc.recipe.sizes.prefetch = 0;
  const Seconds none = waits(sc);
  EXPECT_GT(none.value(), usual.value());
  EXPECT_EQ(bytes_of(sc, "parameter.prefetched", kForward), 0);
  sc.recipe.sizes.prefetch.reset();
  sc.recipe.sizes.live = 1'000'000;
  EXPECT_EQ(waits(sc).value(), none.value());
  sc.recipe.sizes = {.prefetch = 500'000'000};
  EXPECT_LT(waits(sc).value(), usual.value());
  EXPECT_EQ(bytes_of(sc, "parameter.prefetched", kForward), 2 * 5e8);
}

}  // namespace
}  // namespace hexaplan::costmodel
