// One real rank of a layout keeps, computes and sends what the same rank does among all others.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "presets/models/model_preset.h"
#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/solo/solo_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/step/shrink.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;

validator::ExecutionReport run_solo(const Scenario& sc, int rank) {
  validator::RunOptions options{.steps = 2, .routing = validator::Routing::InTurn};
  options.make_device = [](int) { return validator::make_cpu_device(validator::Element::F64); };
  validator::SoloRanks ranks{rank};
  return validator::run_steps(sc, options, ranks);
}

using Counts = std::map<std::string, double>;
Counts counts_of(const validator::RankReport& rank) {
  Counts out;
  for (const auto& t : rank.traffic) {
    const std::string name = t.operation + " pass " + std::to_string(static_cast<int>(t.pass)) + " kind " +
                             std::to_string(static_cast<int>(t.kind)) + " group " +
                             std::to_string(static_cast<int>(t.group));
    out["messages of " + name] += static_cast<double>(t.count.messages);
    out["bytes of " + name] += t.count.bytes.value();
  }
  for (const auto& o : rank.operations)
    out["FLOPs of " + o.name + " pass " + std::to_string(static_cast<int>(o.pass))] += o.flops.value();
  for (const auto& t : rank.memory.peak_tensors)
    out["bytes at the peak of " + t.name + " kind " + std::to_string(static_cast<int>(t.kind))] +=
        static_cast<double>(t.bytes);
  return out;
}

/// Every axis, alone and with others; schedules whose stages differ.
bool is_covering(const LayoutCase& c) {
  static const std::vector<std::string> kNames{"one_rank",
                                               "tp2_sp",
                                               "tp4_more_than_kv_heads",
                                               "zero1",
                                               "zero2_tp2_sp",
                                               "zero3",
                                               "zero3_hybrid",
                                               "pp2_uneven",
                                               "interleaved_sp_recomputed",
                                               "zb_h1_sp_zero2",
                                               "zbv_tied",
                                               "ring_of_four_selective",
                                               "ring_zero3",
                                               "gathered_keys_zero2_pp2",
                                               "experts_ep2_etp2",
                                               "experts_ep4_etp1",
                                               "experts_ep2_ring_recomputed",
                                               "experts_zb_h1",
                                               "experts_zero3",
                                               "tied_zero3_pp2_tp2_sp"};
  return std::find(kNames.begin(), kNames.end(), c.name) != kNames.end();
}
std::vector<LayoutCase> covering_cases() {
  std::vector<LayoutCase> out;
  std::copy_if(layout_cases().begin(), layout_cases().end(), std::back_inserter(out), is_covering);
  return out;
}

class SoloStep : public testing::TestWithParam<LayoutCase> {};

TEST_P(SoloStep, keeps_computes_and_sends_what_the_rank_does_among_all) {
  const Scenario sc = GetParam().scenario();
  const TinyRun all = run_tiny(sc);
  ASSERT_EQ(all.report.ranks.size(), static_cast<std::size_t>(sc.layout.world_size()));
  for (const validator::RankReport& real : all.report.ranks) {
    SCOPED_TRACE("rank " + std::to_string(real.rank) + ", stage " + std::to_string(real.stage));
    const validator::ExecutionReport solo = run_solo(sc, real.rank);
    ASSERT_TRUE(solo.complete);
    ASSERT_EQ(solo.ranks.size(), 1U);
    EXPECT_EQ(solo.ranks[0].rank, real.rank);
    EXPECT_EQ(solo.ranks[0].stage, real.stage);
    EXPECT_EQ(solo.ranks[0].memory.peak_by_kind, real.memory.peak_by_kind);
    EXPECT_EQ(counts_of(solo.ranks[0]), counts_of(real));
  }
}

INSTANTIATE_TEST_SUITE_P(validator, SoloStep, testing::ValuesIn(covering_cases()),
                         [](const testing::TestParamInfo<LayoutCase>& which) { return which.param.name; });

TEST(solo, numbers_stay_finite_whatever_the_stage) {
  const Scenario sc = tiny_scenario({.tp = 2, .pp = 4, .sp = true});
  for (const int rank : {0, 3, 7}) {
    const auto report = run_solo(sc, rank);
    EXPECT_TRUE(std::isfinite(report.steps.back().gradient_norm)) << "rank " << rank;
    EXPECT_GT(report.steps.back().gradient_norm, 0) << "rank " << rank;
    EXPECT_TRUE(std::isfinite(report.steps.back().loss)) << "rank " << rank;
  }
}

TEST(solo, a_rank_of_llama_405b_on_16384_gpus_runs_shrunk) {
  Scenario sc = tiny_scenario();
  sc.model = presets::read_model_preset(HEXAPLAN_SOURCE_DIR "/presets/models/llama-3.1-405b.json").spec;
  sc.layout = {.dp = 128, .tp = 8, .pp = 16, .sp = true, .sharding = {.stage = 1}};
  sc.recipe.sequence = 8192;
  sc.recipe.micro_batch = 1;
  sc.recipe.global_batch = 2048;
  sc.cluster.gpus = sc.layout.world_size();
  sc = validator::shrink(sc, sc.layout.world_size());
  ASSERT_EQ(sc.layout.world_size(), 16384);
  const int last_stage = 16383;
  const auto report = run_solo(sc, last_stage);
  ASSERT_TRUE(report.complete);
  EXPECT_EQ(report.ranks.at(0).stage, 15);
  EXPECT_GT(report.ranks.at(0).memory.peak_bytes, 0);
}

TEST(solo, groups_of_16384_ranks_are_made_in_no_time) {
  Scenario sc;
  sc.layout = {.dp = 128, .tp = 8, .pp = 16};
  sc.model.attention.kv_heads = 8;
  validator::SoloRanks ranks{5000};
  const auto begin = std::chrono::steady_clock::now();
  ranks.run({.ranks = 16384}, [&](validator::Communicator& world) {
    const validator::Groups groups = validator::make_groups(world, sc);
    EXPECT_EQ(groups.data->size(), 128);
    EXPECT_EQ(groups.pipeline->size(), 16);
    EXPECT_EQ(groups.pipeline->rank(),
              static_cast<int>(costmodel::coordinates_of(
                  sc.layout, 5000)[static_cast<std::size_t>(costmodel::Axis::Pipeline)]));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{1});
}

TEST(solo, what_is_received_is_what_this_rank_has_or_noise) {
  validator::SoloRanks ranks{1};
  const validator::Call call{.operation = "test"};
  ranks.run({.ranks = 3}, [&](validator::Communicator& world) {
    const std::vector<double> own{1, 2};
    std::vector<double> all(6), mine(2), message(100);
    world.all_gather(std::span{own}, std::span{all}, call).wait();
    EXPECT_THAT(all, testing::ElementsAre(1, 2, 1, 2, 1, 2));
    world.reduce_scatter(std::span<const double>{all}, std::span{mine}, validator::Reduction::Sum, call)
        .wait();
    EXPECT_THAT(mine, testing::ElementsAre(1, 2));
    const std::vector<std::int64_t> sends{0, 1, 1}, receives{3, 0, 2};
    std::vector<double> rows(5);
    world.all_to_all_v(std::span{own}, sends, std::span{rows}, receives, call).wait();
    EXPECT_THAT(rows, testing::ElementsAre(1, 2, 1, 2, 1));
    world.receive(std::span{message}, 0, call).wait();
    EXPECT_THAT(message, testing::Each(testing::AllOf(testing::Ne(0.0), testing::Gt(-2), testing::Lt(2))));
    EXPECT_EQ(world.gather_bytes({}).size(), 1U);
    EXPECT_TRUE(world.leads());
    EXPECT_EQ(world.traffic().rows().size(), 3U);
  });
}

TEST(solo, a_rank_that_the_layout_does_not_have_is_refused) {
  validator::SoloRanks ranks{4};
  EXPECT_THROW(ranks.run({.ranks = 4}, [](validator::Communicator&) {}), std::out_of_range);
}

TEST(solo, what_the_rank_throws_names_its_last_call) {
  validator::SoloRanks ranks{2};
  try {
    ranks.run({.ranks = 4}, [](validator::Communicator& world) {
      double value = 1;
      world.all_reduce(std::span{&value, 1}, validator::Reduction::Sum, {.operation = "mlp.down", .layer = 3})
          .wait();
      throw std::length_error{"no room for logits"};
    });
    FAIL() << "no fault";
  } catch (const validator::RankFault& fault) {
    EXPECT_STREQ(fault.what(), "rank 2 after mlp.down (all-reduce), layer 3: no room for logits");
    EXPECT_THROW(std::rethrow_exception(fault.original), std::length_error);
  }
}

}  // namespace
}  // namespace hexaplan::tests
