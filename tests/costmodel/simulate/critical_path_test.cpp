#include "costmodel/simulate/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

Simulation simulated(int stages, ScheduleKind schedule, int vpp = 1) {
  Scenario sc = example_scenario();
  sc.layout.pp = stages;
  sc.layout.dp = 8 / stages;
  sc.layout.vpp = vpp;
  sc.layout.schedule = schedule;
  return simulate_step(sc, Calibration{});
}

Seconds on_path(const std::vector<PathPart>& path, auto&& counts) {
  Seconds sum;
  for (const PathPart& part : path) sum += counts(part) ? part.span.end - part.span.begin : Seconds{};
  return sum;
}

void expect_whole(const Simulation& step, const std::vector<PathPart>& path) {
  ASSERT_FALSE(path.empty());
  const double close = 1e-9 * step.total.value();
  EXPECT_NEAR(path.front().span.begin.value(), 0, close);
  EXPECT_NEAR(path.back().span.end.value(), step.total.value(), close);
  for (std::size_t i = 1; i < path.size(); ++i)
    ASSERT_NEAR(path[i].span.begin.value(), path[i - 1].span.end.value(), close) << "part " << i;
}

TEST(critical_path, of_one_stage_is_all_that_it_does) {
  const Simulation step = simulated(1, ScheduleKind::OneFOneB);
  const auto path = critical_path(step);
  expect_whole(step, path);
  for (const PathPart& part : path) EXPECT_EQ(part.stage, 0);
}

TEST(critical_path, goes_over_a_message_wherever_it_changes_stages) {
  for (const ScheduleKind schedule :
       {ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::ZbH1, ScheduleKind::Zbv}) {
    const Simulation step = simulated(4, schedule, schedule == ScheduleKind::Zbv ? 2 : 1);
    const auto path = critical_path(step);
    expect_whole(step, path);
    EXPECT_TRUE(std::any_of(path.begin(), path.end(), [](const PathPart& p) { return p.stage == 3; }));
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (path[i].stage == path[i - 1].stage || path[i].span.microbatch < 0) continue;
      EXPECT_EQ(path[i - 1].stream, Stream::Messages) << "part " << i;
      EXPECT_EQ(path[i - 1].span.microbatch, path[i].span.microbatch) << "part " << i;
    }
  }
}

TEST(critical_path, stays_at_the_stage_that_takes_longest) {
  Scenario sc = example_scenario();
  sc.layout.pp = 4;
  sc.layout.dp = 2;
  sc.model.vocab = 1'000'000;  // the head of the last stage
  const Simulation step = simulate_step(sc, Calibration{});
  const auto path = critical_path(step);
  expect_whole(step, path);
  EXPECT_EQ(step.slowest, 3);
  EXPECT_GT(on_path(path, [](const PathPart& p) { return p.stage == 3; }), 0.8 * step.total);
}

TEST(critical_path, tells_the_host_s_wait_for_messages_from_the_messages) {
  Scenario sc = example_scenario();
  sc.layout.pp = 4;
  sc.layout.dp = 2;
  sc.framework.pipeline_wait = Seconds{0.01};
  const Simulation step = simulate_step(sc, Calibration{});
  const auto path = critical_path(step);
  expect_whole(step, path);
  const auto waits = [](const PathPart& part) { return part.waiting; };
  EXPECT_GT(on_path(path, waits), 0.03 * Seconds{1}) << "there and back over three neighbours";
  sc.framework.pipeline_wait = {};
  EXPECT_EQ(on_path(critical_path(simulate_step(sc, Calibration{})), waits), Seconds{});
}

TEST(critical_path, its_time_is_summed_up_by_kind_over_the_stages_that_it_visits) {
  const auto part = [](int stage, SpanKind kind, double begin, double end, bool waiting = false) {
    return PathPart{.stage = stage,
                    .waiting = waiting,
                    .span = {.begin = Seconds{begin}, .end = Seconds{end}, .kind = kind}};
  };
  const PathTimes times =
      times_of({part(0, SpanKind::Forward, 0, 1), part(0, SpanKind::SendForward, 1, 1.25),
                part(2, SpanKind::Forward, 1.25, 1.5, true), part(2, SpanKind::Backward, 1.5, 3.5),
                part(2, SpanKind::Forward, 3.5, 3.9999), part(2, SpanKind::Optimizer, 3.9999, 4)});
  EXPECT_EQ(times.stages, 2);
  EXPECT_DOUBLE_EQ(times.kinds[static_cast<std::size_t>(SpanKind::Forward)].value(), 1.4999);
  EXPECT_DOUBLE_EQ(times.waiting.value(), 0.25);
  EXPECT_DOUBLE_EQ(times.total().value(), 4);
  EXPECT_EQ(shares_text(times), "backward 50.0 %, forward 37.5 %, send forward 6.2 %, waiting 6.2 %")
      << "the optimizer's 0.0 % are left out";
  EXPECT_EQ(shares_text(times_of({})), "");
}

TEST(critical_path, of_a_step_without_spans_is_empty) {
  const Simulation totals = simulate_step(example_scenario(), Calibration{}, {.keep_spans = false});
  EXPECT_TRUE(critical_path(totals).empty());
}

}  // namespace
}  // namespace hexaplan::costmodel
