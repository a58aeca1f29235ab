#include "validator/executor/report/execution_report.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/report/collect.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {
namespace {

RankReport report_of(int rank) {
  RankReport report{
      .rank = rank, .stage = rank / 2, .host = std::string(static_cast<std::size_t>(rank), 'h')};
  report.process = 1000 + rank;
  report.device = "cpu, float64";
  report.step_times.assign(static_cast<std::size_t>(rank), costmodel::Seconds{0.25});
  report.phases[1] = costmodel::Seconds{0.5 * rank};
  report.layers[rank + 3][2] = costmodel::Seconds{0.125};
  report.compute[4] = {.calls = rank, .time = costmodel::Seconds{2}};
  report.timed_steps = rank;
  report.facts = {{.name = "clock", .value = 1980, .unit = "MHz", .text = {}}};
  report.memory.peak_bytes = 100 * rank;
  report.memory.peak_tensors = {{"logits", costmodel::TensorKind::Logits, 64}};
  report.memory.timeline.resize(static_cast<std::size_t>(rank), {.seconds = 1.5, .live = {1, 2}});
  report.traffic = {{.operation = "mlp.down", .count = {.messages = rank, .bytes = costmodel::Bytes{8}}}};
  report.operations = {{"attention.qkv", costmodel::Pass::BackwardWeight, costmodel::Flops{1e9}, {}, {}}};
  return report;
}

TEST(collect, hands_every_rank_the_report_of_every_rank) {
  ThreadRanks{}.run({.ranks = 3}, [](Communicator& world) {
    const std::vector<RankReport> reports = collect(world, report_of(world.rank()));
    ASSERT_EQ(reports.size(), 3U);
    for (int rank = 0; rank < 3; ++rank) {
      const RankReport& got = reports[static_cast<std::size_t>(rank)];
      EXPECT_EQ(got.rank, rank);
      EXPECT_EQ(got.stage, rank / 2);
      EXPECT_EQ(got.host.size(), static_cast<std::size_t>(rank));
      EXPECT_EQ(got.process, 1000 + rank);
      EXPECT_EQ(got.step_times.size(), static_cast<std::size_t>(rank));
      EXPECT_EQ(got.phases[1].value(), 0.5 * rank);
      EXPECT_EQ(got.layers.at(rank + 3)[2].value(), 0.125);
      EXPECT_EQ(got.compute[4].calls, rank);
      EXPECT_EQ(got.timed_steps, rank);
      EXPECT_EQ(got.facts.at(0).unit, "MHz");
      EXPECT_EQ(got.memory.peak_tensors.at(0).name, "logits");
      EXPECT_EQ(got.memory.timeline.size(), static_cast<std::size_t>(rank));
      EXPECT_EQ(got.traffic.at(0).count.messages, rank);
      EXPECT_EQ(got.operations.at(0).name, "attention.qkv");
      EXPECT_EQ(got.operations.at(0).flops.value(), 1e9);
    }
    EXPECT_TRUE(world.traffic().rows().empty()) << "reports count as traffic";
  });
}

TEST(phase_clock, every_moment_belongs_to_one_phase) {
  const auto begin = std::chrono::steady_clock::now();
  const auto device = make_cpu_device(Element::F64);
  PhaseClock clock{*device};
  EXPECT_EQ(clock.enter(Phase::Forward), Phase::Other);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_EQ(clock.enter(Phase::Backward), Phase::Forward);
  clock.enter_layer(7);
  std::this_thread::sleep_for(std::chrono::milliseconds{5});
  clock.settle();
  const PhaseTimes& times = clock.times();
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double sum =
      std::accumulate(times.begin(), times.end(), 0.0,
                      [](double total, costmodel::Seconds time) { return total + time.value(); });
  EXPECT_GE(times[static_cast<std::size_t>(Phase::Forward)].value(), 0.02);
  EXPECT_LE(sum, whole);
  EXPECT_NEAR(sum, whole, 0.01);
  ASSERT_EQ(clock.layers().size(), 1U);
  const PhaseTimes& layer = clock.layers().at(7);
  EXPECT_GE(layer[static_cast<std::size_t>(Phase::Backward)].value(), 0.005);
  EXPECT_EQ(layer[static_cast<std::size_t>(Phase::Forward)].value(), 0);
  clock.restart();
  clock.settle();
  EXPECT_TRUE(clock.layers().contains(7)) << "what runs goes on";
  EXPECT_LT(clock.times()[static_cast<std::size_t>(Phase::Backward)].value(), 0.005);
}

TEST(median_step_time, leaves_out_warm_up_and_profiled_steps) {
  const auto step = [](double seconds, bool warm_up = false, bool profiled = false) {
    return StepReport{.time = costmodel::Seconds{seconds}, .warm_up = warm_up, .profiled = profiled};
  };
  EXPECT_EQ(median_step_time({step(9, true), step(1), step(3), step(8, false, true)}).value(), 2);
  EXPECT_EQ(median_step_time({step(5), step(1), step(3)}).value(), 3);
  EXPECT_EQ(median_step_time({step(9, true), step(8, false, true)}).value(), 8.5) << "better than nothing";
  EXPECT_EQ(median_step_time({}).value(), 0);
}

TEST(thinned, keeps_the_largest_sample_of_every_run) {
  std::vector<MemorySample> samples(100);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i].live[0] = i == 37 ? 1000 : static_cast<int>(i % 10);
  const std::vector<MemorySample> kept = thinned(samples, 10);
  ASSERT_EQ(kept.size(), 10U);
  EXPECT_EQ(kept[3].live[0], 1000);
  EXPECT_EQ(kept[4].live[0], 9);
  EXPECT_EQ(thinned(kept, 10).size(), 10U);
}

}  // namespace
}  // namespace hexaplan::validator
