// A step on devices that work later than they are told, and over a communicator that never waits for the
// host, gives the numbers of one rank: nothing is read before it is there, and no schedule stands still.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cases_of_this_build.h"
#include "tests/validator/communicator/fake_nccl.h"
#include "tests/validator/communicator/streamed_device.h"
#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/nccl/nccl_ranks.h"
#include "validator/executor/communicator/threads/thread_ranks.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;

TinyRun run_streamed(const Scenario& sc, validator::RankBackend& ranks) {
  TinyRun run;
  validator::GlobalState state;
  validator::RunOptions options{.steps = 2, .routing = validator::Routing::InTurn};
  options.make_device = [](int) { return validator::make_streamed_device(); };
  options.stepped = [&](const validator::RankView& view) {
    if (view.step == 2) state.add(view, validator::State::Master);
  };
  run.report = validator::run_steps(sc, options, ranks);
  run.parameters = state.tensors();
  return run;
}

void expect_equal(const TinyRun& run, const TinyRun& single) {
  ASSERT_EQ(run.report.steps.size(), single.report.steps.size());
  for (std::size_t i = 0; i < single.report.steps.size(); ++i) {
    EXPECT_NEAR(run.report.steps[i].loss, single.report.steps[i].loss, 1e-10);
    EXPECT_NEAR(run.report.steps[i].gradient_norm, single.report.steps[i].gradient_norm, 1e-10);
  }
  const auto worst = validator::largest_difference(run.parameters, single.parameters);
  EXPECT_LE(worst.relative, 1e-10) << worst.parameter.second << " of unit " << worst.parameter.first;
}

/// Every schedule, and every kind of communication.
std::vector<LayoutCase> streamed_cases() {
  static const std::vector<std::string> kNames{"tp2_sp",
                                               "tp4_more_than_kv_heads",
                                               "zero2_tp2_sp",
                                               "zero3_hybrid",
                                               "gpipe",
                                               "pp4",
                                               "pp2_uneven",
                                               "pp4_more_stages_than_micro_batches",
                                               "interleaved",
                                               "interleaved_sp_recomputed",
                                               "zb_h1",
                                               "zb_h1_sp_zero2",
                                               "zbv_tied",
                                               "ring_of_four_selective",
                                               "gathered_keys_zero2_pp2",
                                               "zero3_offloaded",
                                               "zero2_half_on_disks",
                                               "zero3_second_copy",
                                               "cut_checkpoints",
                                               "experts_ep2_etp2",
                                               "experts_zb_h1",
                                               "experts_zero3",
                                               "tied_zero3_pp2_tp2_sp"};
  std::vector<LayoutCase> out;
  std::copy_if(
      layout_cases().begin(), layout_cases().end(), std::back_inserter(out),
      [](const LayoutCase& c) { return std::find(kNames.begin(), kNames.end(), c.name) != kNames.end(); });
  return cases_of_this_build(
      std::move(out), {"zero3_hybrid", "pp4_more_stages_than_micro_batches", "interleaved_sp_recomputed",
                       "zb_h1_sp_zero2", "ring_of_four_selective", "experts_ep2_etp2"});
}

class StreamedStep : public testing::TestWithParam<LayoutCase> {};

TEST_P(StreamedStep, of_virtual_ranks_on_one_device_equals_the_step_of_one_rank) {
  const Scenario sc = GetParam().scenario();
  validator::ThreadRanks ranks;
  expect_equal(run_streamed(sc, ranks), run_tiny(on_one_rank(sc)));
}

TEST_P(StreamedStep, over_nccl_equals_the_step_of_one_rank) {
  const Scenario sc = GetParam().scenario();
  validator::NcclRanks ranks{validator::fake_nccl(), {}};
  expect_equal(run_streamed(sc, ranks), run_tiny(on_one_rank(sc)));
}

/// Codes and scales travel and are read behind what was put on the stream before: bit for bit the step of
/// devices that work at once.
TEST(streamed_step, comes_to_the_same_bits_with_quantised_messages) {
  for (const int per_node : {4, 2}) {
    Scenario sc = tiny_scenario({.dp = 4, .pp = 2, .sharding = {.stage = 3}});
    sc.layout.schedule = costmodel::ScheduleKind::ZbH1;
    sc.layout.sharding.quantized_weights = sc.layout.sharding.quantized_gradients = true;
    sc.cluster.gpus_per_node = per_node;
    sc.cluster.levels.front().ranks = per_node;
    const TinyRun at_once = run_tiny(sc);
    validator::ThreadRanks threads;
    validator::NcclRanks nccl{validator::fake_nccl(), {}};
    for (validator::RankBackend* backend :
         {static_cast<validator::RankBackend*>(&threads), static_cast<validator::RankBackend*>(&nccl)}) {
      const TinyRun later = run_streamed(sc, *backend);
      EXPECT_EQ(validator::largest_difference(later.parameters, at_once.parameters).relative, 0);
      EXPECT_EQ(later.report.steps.back().loss, at_once.report.steps.back().loss);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(validator, StreamedStep, testing::ValuesIn(streamed_cases()),
                         [](const testing::TestParamInfo<LayoutCase>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
