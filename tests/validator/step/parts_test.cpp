// Parts of a step that stand on their own: learning rate, clipping, tokens, cuts of parameters, shrinking.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/parameters/initial_values.h"
#include "validator/executor/step/shrink.h"
#include "validator/executor/step/token_source.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Scenario;
using validator::LearningRate;
using validator::TokenSource;

TEST(learning_rate, rises_evenly_stays_at_the_peak_and_falls_along_a_cosine) {
  LearningRate rate{
      .peak = 1, .lowest = 0.1, .warm_up_steps = 4, .total_steps = 14, .decay = validator::Decay::Cosine};
  EXPECT_DOUBLE_EQ(rate.at(1), 0.25);
  EXPECT_DOUBLE_EQ(rate.at(4), 1);
  EXPECT_DOUBLE_EQ(rate.at(9), 0.55) << "half way down";
  EXPECT_DOUBLE_EQ(rate.at(14), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(99), 0.1);
  EXPECT_NEAR(rate.at(6), 0.1 + 0.45 * (1 + std::cos(0.2 * 3.14159265358979)), 1e-12);
  rate.decay = validator::Decay::Linear;
  EXPECT_DOUBLE_EQ(rate.at(2), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(6), 0.82) << "a fifth of the way down";
  EXPECT_DOUBLE_EQ(rate.at(99), 0.1);
  rate.decay = validator::Decay::Constant;
  EXPECT_DOUBLE_EQ(rate.at(99), 1);
  EXPECT_DOUBLE_EQ((LearningRate{.peak = 2}.at(7)), 2) << "no schedule";
}

TEST(clipping, divides_by_the_norm_beyond_its_limit_only) {
  EXPECT_EQ(validator::clip_factor(0.5, 1), 1);
  EXPECT_NEAR(validator::clip_factor(4, 1), 0.25, 1e-6);
  EXPECT_EQ(validator::clip_factor(4, 0), 1) << "0 never clips";
}

TEST(token_source, gives_every_sequence_its_window_and_starts_again_at_the_end) {
  const TokenSource source = TokenSource::from_tokens({0, 1, 2, 3, 4, 5, 6}, 2);
  EXPECT_EQ(source.at(0, 2), 2);
  EXPECT_EQ(source.at(1, 0), 2) << "the last target is the next input";
  EXPECT_EQ(source.at(2, 2), 6);
  EXPECT_EQ(source.at(3, 1), 1);
}

TEST(token_source, shuffles_all_windows_every_time_round) {
  constexpr int kWindows = 37;
  std::vector<std::int32_t> tokens(2 * kWindows + 1);
  std::iota(tokens.begin(), tokens.end(), 0);
  const TokenSource source = TokenSource::from_tokens(tokens, 2, 5);
  std::vector<std::vector<std::int32_t>> rounds(3);
  for (int i = 0; i < 3 * kWindows; ++i) {
    rounds[static_cast<std::size_t>(i / kWindows)].push_back(source.at(i, 0));
    EXPECT_EQ(source.at(i, 2), source.at(i, 0) + 2) << "a window stays whole";
  }
  EXPECT_NE(rounds[0], rounds[1]);
  EXPECT_NE(rounds[1], rounds[2]);
  for (std::vector<std::int32_t>& round : rounds) {
    EXPECT_FALSE(std::is_sorted(round.begin(), round.end()));
    std::sort(round.begin(), round.end());
    for (std::size_t i = 0; i < round.size(); ++i) EXPECT_EQ(round[i], 2 * static_cast<std::int32_t>(i));
  }
  EXPECT_EQ(TokenSource::from_tokens(tokens, 2, 5).at(9, 1), source.at(9, 1)) << "the seed decides";
}

TEST(token_source, shuffles_any_number_of_windows) {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 16, 17, 1000}) {
    std::set<std::int64_t> places;
    for (std::int64_t i = 0; i < count; ++i) places.insert(validator::shuffled_place(i, count, 1, 0));
    EXPECT_EQ(std::ssize(places), count);
    EXPECT_LT(*places.rbegin(), count);
  }
}

TEST(token_source, draws_words_of_the_vocabulary_from_the_seed_alone) {
  const TokenSource a = TokenSource::random(1, 7, 16), b = TokenSource::random(1, 7, 16);
  const TokenSource other = TokenSource::random(2, 7, 16);
  int different = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(a.at(i, 3), b.at(i, 3));
    EXPECT_GE(a.at(i, 3), 0);
    EXPECT_LT(a.at(i, 3), 7);
    different += a.at(i, 3) != other.at(i, 3) ? 1 : 0;
  }
  EXPECT_GT(different, 100);
}

/// How often the ranks of a tensor-parallel group hold each element of a layer's parameters.
void expect_held(const Scenario& sc, std::string_view name, int times) {
  std::vector<int> held;
  for (int rank = 0; rank < sc.layout.tp; ++rank) {
    for (const auto& t : validator::plan_unit(sc, 0, {.tp_rank = rank}).dense) {
      if (t.name != name) continue;
      held.resize(static_cast<std::size_t>(t.global_rows * t.global_cols));
      for (std::int64_t i = 0; i < t.elements(); ++i) ++held.at(static_cast<std::size_t>(t.global_index(i)));
    }
  }
  EXPECT_THAT(held, testing::Each(times)) << name << " over " << sc.layout.tp;
}

TEST(local_tensor, tensor_parallel_ranks_hold_every_matrix_once_and_every_vector_each) {
  for (const int tp : {1, 2, 4, 8}) {
    const Scenario sc = tiny_scenario({.tp = tp});
    for (const char* name :
         {"attention.query.weight", "attention.output.weight", "mlp.gate_up.weight", "mlp.down.weight"})
      expect_held(sc, name, 1);
    expect_held(sc, "norm1.weight", tp);
    expect_held(sc, "attention.key_value.weight", tp <= 2 ? 1 : tp / 2);  // two kv heads
  }
}

TEST(local_tensor, the_gradient_norm_counts_every_element_once) {
  const Scenario sc = tiny_scenario({.tp = 8});
  std::int64_t counted = 0;
  for (int rank = 0; rank < 8; ++rank) {
    for (const auto& t : validator::plan_unit(sc, 0, {.tp_rank = rank}).dense)
      counted += t.counted ? t.elements() : 0;
  }
  const auto whole = validator::plan_unit(tiny_scenario(), 0, {});
  EXPECT_EQ(counted, whole.dense_elements());
}

TEST(initial_values, depend_on_the_place_in_the_unsharded_tensor_alone) {
  const Scenario sc = tiny_scenario({.tp = 4});
  const auto values_of = [&](const Scenario& s, int rank, const char* name) {
    std::vector<double> whole;
    for (const auto& t : validator::plan_unit(s, 1, {.tp_rank = rank}).dense) {
      if (t.name != name) continue;
      std::vector<double> values(static_cast<std::size_t>(t.elements()));
      // In pieces that end in the middle of rows.
      for (std::int64_t at = 0; at < t.elements(); at += 37) {
        const auto count = static_cast<std::size_t>(std::min<std::int64_t>(37, t.elements() - at));
        const auto piece = std::span{values}.subspan(static_cast<std::size_t>(at), count);
        validator::initial_values(t, 1, s.model, 7, at, piece);
      }
      whole.resize(static_cast<std::size_t>(t.global_rows * t.global_cols));
      for (std::int64_t i = 0; i < t.elements(); ++i)
        whole[static_cast<std::size_t>(t.global_index(i))] = values[static_cast<std::size_t>(i)];
    }
    return whole;
  };
  const auto unsharded = values_of(tiny_scenario(), 0, "mlp.down.weight");
  const auto sharded = values_of(sc, 2, "mlp.down.weight");
  int found = 0;
  for (std::size_t i = 0; i < sharded.size(); ++i) {
    if (sharded[i] == 0) continue;
    ++found;
    EXPECT_EQ(sharded[i], unsharded[i]);
  }
  EXPECT_EQ(found, 16 * 24 / 4);
}

/// Llama-3-405B's shape under one of its published layouts (arXiv:2407.21783 table 4).
Scenario large(Layout layout) {
  Scenario sc = tiny_scenario(layout);
  sc.model.layers = 126;
  sc.model.hidden = 16384;
  sc.model.vocab = 128256;
  sc.model.attention = {.heads = 128, .kv_heads = 8, .head_dim = 128, .v_head_dim = 128};
  sc.model.mlp.ffn = 53248;
  sc.recipe.sequence = 8192;
  sc.recipe.global_batch = 2048;
  return sc;
}

TEST(shrink, keeps_the_layout_of_a_405b_plan_and_leaves_a_model_for_a_laptop) {
  Layout layout{.dp = 128, .tp = 8, .pp = 16, .sp = true, .sharding = {.stage = 1}};
  layout.split = costmodel::StageSplit::EndsMinusOne;
  const Scenario sc = large(layout);
  ASSERT_FALSE(costmodel::first_rejection(sc));
  const Scenario small = validator::shrink(sc, 256);
  EXPECT_FALSE(costmodel::first_rejection(small));
  EXPECT_EQ(small.layout.tp, 8);
  EXPECT_EQ(small.layout.pp, 16);
  EXPECT_EQ(small.layout.dp, 2) << "256 ranks";
  EXPECT_EQ(small.layout.sharding.stage, 1);
  EXPECT_EQ((small.model.layers + 2) % 16, 0) << "as 126 layers have";
  EXPECT_EQ(small.model.attention.kv_heads, 8);
  EXPECT_LT(small.model.hidden, 512);
  EXPECT_NEAR(static_cast<double>(small.model.mlp.ffn) / static_cast<double>(small.model.hidden),
              53248.0 / 16384, 0.1);
  EXPECT_GE(costmodel::microbatches_per_step(small), 16) << "the pipeline fills";
}

TEST(shrink, keeps_more_tensor_parallel_ranks_than_kv_heads) {
  const Scenario small = validator::shrink(large({.dp = 4, .tp = 16}));
  EXPECT_FALSE(costmodel::first_rejection(small));
  EXPECT_LT(small.model.attention.kv_heads, small.layout.tp);
}

TEST(shrink, leaves_replicas_in_two_groups_where_shards_are_hybrid) {
  const Scenario small = validator::shrink(large({.dp = 256, .sharding = {.stage = 3, .group = 8}}), 4);
  EXPECT_FALSE(costmodel::first_rejection(small));
  EXPECT_LE(small.layout.world_size(), 4);
  EXPECT_LT(small.layout.shard_ranks(), small.layout.dp);
}

}  // namespace
}  // namespace hexaplan::tests
