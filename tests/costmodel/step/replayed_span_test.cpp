// Schedules without a closed form wait as long as running their order says; long ones are continued from
// shorter runs.
#include <gtest/gtest.h>

#include "costmodel/schedule/replay.h"
#include "costmodel/step/step_parts.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

struct Pipeline {
  const char* name;
  ScheduleKind schedule;
  int chunks;   // per stage
  double head;  // what the last chunk costs beyond its layers, as a share of them: 0 makes equal stages
};

constexpr Pipeline kPipelines[] = {
    {"interleaved_with_a_remainder", ScheduleKind::Interleaved, 3, 0},
    {"interleaved_with_a_heavy_head", ScheduleKind::Interleaved, 3, 0.7},
    {"zb_h1", ScheduleKind::ZbH1, 1, 0},
    {"zb_h1_with_a_heavy_head", ScheduleKind::ZbH1, 1, 0.7},
    {"zb_2p_with_a_heavy_head", ScheduleKind::Zb2p, 1, 0.7},
    {"zb_v", ScheduleKind::Zbv, 2, 0},
    {"zb_v_with_a_heavy_head", ScheduleKind::Zbv, 2, 0.7},
    {"vhalf_with_a_heavy_head", ScheduleKind::VHalf, 2, 0.7},
    {"dualpipe", ScheduleKind::DualPipe, 2, 0},
    {"dualpipev", ScheduleKind::DualPipeV, 2, 0},
    {"dualpipev_with_a_heavy_head", ScheduleKind::DualPipeV, 2, 0.7},
};

class long_pipeline : public ::testing::TestWithParam<Pipeline> {};

TEST_P(long_pipeline, takes_as_long_as_its_whole_order) {
  const Pipeline& which = GetParam();
  for (const int stages : {2, 4, 8, 16}) {
    std::vector<ChunkSeconds> seconds(static_cast<std::size_t>(stages * which.chunks),
                                      {Seconds{1e-3}, Seconds{1.2e-3}, Seconds{0.9e-3}});
    ChunkSeconds& last = seconds.back();
    for (Seconds* part : {&last.forward, &last.backward_input, &last.backward_weight})
      *part = *part * (1 + which.head);
    for (const int microbatches : {3 * stages + 1, 60 * stages, 61 * stages + 1, 200 * stages + 3}) {
      const Seconds whole =
          pipeline_time(make_schedule(which.schedule, stages, microbatches, which.chunks), seconds);
      const Seconds continued = pipeline_time(which.schedule, stages, microbatches, which.chunks, seconds);
      EXPECT_NEAR(continued / whole, 1, 1e-9) << stages << " stages, " << microbatches << " micro-batches";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(pipelines, long_pipeline, ::testing::ValuesIn(kPipelines),
                         [](const auto& test) { return std::string{test.param.name}; });

TEST(replayed_span, is_nothing_where_a_closed_form_says_it) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 1, .tp = 1, .pp = 16};
  LayerTotals totals;
  totals.layers.fill({.forward = Seconds{1e-3}, .backward = Seconds{2e-3}});
  EXPECT_EQ(replayed_span(sc, totals), Seconds{});
  sc.layout.schedule = ScheduleKind::ZbH1;
  EXPECT_GT(replayed_span(sc, totals), Seconds{});
}

}  // namespace
}  // namespace hexaplan::costmodel
