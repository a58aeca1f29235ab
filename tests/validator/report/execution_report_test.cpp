#include "validator/report/execution_report.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "validator/communicator/threads/thread_ranks.h"
#include "validator/report/collect.h"

namespace hexaplan::validator {
namespace {

RankReport report_of(int rank) {
  RankReport report{
      .rank = rank, .stage = rank / 2, .host = std::string(static_cast<std::size_t>(rank), 'h')};
  report.process = 1000 + rank;
  report.device = "cpu, float64";
  report.phases[1] = costmodel::Seconds{0.5 * rank};
  report.memory.peak_bytes = 100 * rank;
  report.memory.peak_tensors = {{"logits", costmodel::TensorKind::Logits, 64}};
  report.memory.timeline.resize(static_cast<std::size_t>(rank), {.seconds = 1.5, .live = {1, 2}});
  report.traffic = {{.operation = "mlp.down", .count = {.messages = rank, .bytes = costmodel::Bytes{8}}}};
  report.operations = {{"attention.qkv", costmodel::Pass::BackwardWeight, costmodel::Flops{1e9}}};
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
      EXPECT_EQ(got.phases[1].value(), 0.5 * rank);
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
  PhaseClock clock;
  EXPECT_EQ(clock.enter(Phase::Forward), Phase::Other);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_EQ(clock.enter(Phase::Backward), Phase::Forward);
  const PhaseTimes times = clock.times();
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double sum =
      std::accumulate(times.begin(), times.end(), 0.0,
                      [](double total, costmodel::Seconds time) { return total + time.value(); });
  EXPECT_GE(times[static_cast<std::size_t>(Phase::Forward)].value(), 0.02);
  EXPECT_LE(sum, whole);
  EXPECT_NEAR(sum, whole, 0.01);
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
