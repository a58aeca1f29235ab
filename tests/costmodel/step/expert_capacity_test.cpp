// Experts that take no more tokens than a capacity, and those that are padded to it: rows, messages, products
// and kept bytes, counted by hand after Megatron-LM's definitions.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_counts.h"
#include "example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// 8,192 tokens, 8 of 64 experts each: 1,024 copies for every expert on average.
Scenario limited(double factor, bool pads, double imbalance = 1) {
  Scenario sc = example_of_experts();
  sc.recipe.routing = {.imbalance = imbalance, .capacity_factor = factor, .pad_to_capacity = pads};
  return sc;
}

TEST(expert_capacity, is_the_factor_times_the_mean_rounded_up) {
  EXPECT_EQ(expert_capacity(limited(1, false), 8192), 1024);
  EXPECT_EQ(expert_capacity(limited(1.25, false), 8192), 1280);
  EXPECT_EQ(expert_capacity(limited(1, false), 7), 1);     // 7·8/64
  EXPECT_EQ(expert_capacity(limited(1.2, false), 7), 2);   // 1.05
  EXPECT_EQ(expert_capacity(limited(0, false), 8192), 0);  // nothing is dropped
  EXPECT_EQ(expert_capacity(limited(0.01, false), 8), 1);
}

TEST(expert_capacity, drops_what_the_busiest_rank_has_beyond_it) {
  constexpr std::int64_t kCopies = 8192 * 8;
  const auto rows = [](double factor, double imbalance) {
    return local_dims(limited(factor, false, imbalance)).expert_tokens;
  };
  EXPECT_EQ(rows(0, 1.5), kCopies * 3 / 2);
  EXPECT_EQ(rows(1.25, 1.5), 64 * 1280);
  EXPECT_EQ(rows(1.25, 1), kCopies);  // within it
  EXPECT_EQ(rows(0.5, 1), kCopies / 2);
  EXPECT_EQ(local_dims(limited(0.5, false)).sent_copies, kCopies / 2);
  EXPECT_EQ(local_dims(limited(1.25, false, 1.5)).sent_copies, kCopies);
}

TEST(expert_capacity, padded_experts_have_as_many_rows_whatever_chose_them) {
  for (const double imbalance : {1.0, 1.5, 4.0}) {
    const LocalDims d = local_dims(limited(1.25, true, imbalance));
    EXPECT_EQ(d.sent_copies, 64 * 1280);
    EXPECT_EQ(d.expert_tokens, 64 * 1280);
  }
}

/// Ranks that share an expert's columns gather each other's rows.
TEST(expert_capacity, rows_of_all_ranks_that_share_columns_are_padded) {
  Scenario sc = limited(1.25, true);
  sc.layout = {.dp = 8, .tp = 2, .ep = 8, .sp = true};
  ASSERT_FALSE(first_rejection(sc));
  const LocalDims d = local_dims(sc);
  EXPECT_EQ(d.expert_capacity, 640);  // of 4,096 tokens
  EXPECT_EQ(d.sent_copies, 64 * 640);
  EXPECT_EQ(d.expert_tokens, 2 * 64 * 640);
}

struct Counts {
  std::map<std::string, double> bytes, flops;
};
/// Of the one stage's first micro-batch and all others.
Counts counts_of(const Scenario& sc) {
  Counts out;
  const StepCounts step = count_step(sc, 0);
  for (const CollectiveCount& c : step.collectives) out.bytes[std::string{c.operation}] += c.bytes.value();
  for (const FlopCount& f : step.flops) out.flops[std::string{f.operation}] += f.flops.value();
  return out;
}

TEST(expert_capacity, messages_and_products_are_those_of_the_padded_rows) {
  const Counts plain = counts_of(limited(0, false)), padded = counts_of(limited(1.5, true)),
               dropped = counts_of(limited(0.5, false));
  // 32 layers, copies of 4,096 numbers of 2 bytes there and back, forward and backward.
  constexpr double kMessages = 32.0 * 8192 * 8 * 4096 * 2;
  for (const char* message : {"moe.dispatch", "moe.combine"}) {
    EXPECT_EQ(plain.bytes.at(message), 2 * kMessages) << message;
    EXPECT_EQ(padded.bytes.at(message), 2 * 1.5 * kMessages) << message;
    EXPECT_EQ(dropped.bytes.at(message), 2 * 0.5 * kMessages) << message;
  }
  for (const char* product : {"moe.expert.up", "moe.expert.down"}) {
    EXPECT_EQ(padded.flops.at(product), 1.5 * plain.flops.at(product)) << product;
    EXPECT_EQ(dropped.flops.at(product), 0.5 * plain.flops.at(product)) << product;
  }
  EXPECT_EQ(padded.flops.at("moe.router"), plain.flops.at("moe.router"));
}

/// Nobody has to be told how many rows come: there is no exchange of counts
/// (NVIDIA/Megatron-LM megatron/core/transformer/moe/token_dispatcher.py, preprocess).
TEST(expert_capacity, padded_experts_need_no_exchange_of_counts) {
  const auto tells = [](Scenario sc) {
    sc.framework.counts_choices = true;
    return counts_of(sc).bytes.contains("moe.counts");
  };
  EXPECT_TRUE(tells(limited(0, false)));
  EXPECT_TRUE(tells(limited(1.5, false)));
  EXPECT_FALSE(tells(limited(1.5, true)));
}

TEST(expert_capacity, padded_rows_take_memory_and_time) {
  const auto estimated = [](Scenario sc) {
    for (const Saved tensor : {Saved::ExpertInput, Saved::ExpertGateUp, Saved::ExpertActivation})
      sc.framework.saved[static_cast<std::size_t>(tensor)].compute = 1;
    return estimate_step(sc, Calibration{});
  };
  const auto activations = [](const Estimate& e) {
    return e.stages[0].on_device().of(TensorKind::Activation).value();
  };
  const Estimate plain = estimated(limited(0, false)), padded = estimated(limited(2, true)),
                 dropped = estimated(limited(0.5, false));
  // Of each copy 4,096 numbers of the input, 2,048 of gate and up, 1,024 behind them, in 32 layers.
  constexpr double kKept = 32.0 * 8192 * 8 * (4096 + 2048 + 1024) * 2;
  EXPECT_EQ(activations(padded) - activations(plain), kKept);
  EXPECT_EQ(activations(plain) - activations(dropped), kKept / 2);
  EXPECT_GT(padded.time.gemm.value(), plain.time.gemm.value());
  EXPECT_GT(padded.time.expert_parallel.value(), plain.time.expert_parallel.value());
  EXPECT_LT(dropped.time.gemm.value(), plain.time.gemm.value());
}

}  // namespace
}  // namespace hexaplan::costmodel
