#include "costmodel/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace hexaplan::costmodel {
namespace {

int most_alive(const std::vector<Task>& order) {
  int alive = 0, most = 0;
  for (const Task& task : order) {
    alive += task.pass == TaskPass::Forward ? 1 : -1;
    most = std::max(most, alive);
  }
  return most;
}

struct Pipeline {
  std::string name;
  ScheduleKind kind;
  int stages, microbatches, chunks;
};
void PrintTo(const Pipeline& p, std::ostream* out) {
  *out << p.name;
}

class EverySchedule : public testing::TestWithParam<Pipeline> {};

TEST_P(EverySchedule, runs_every_microbatch_through_every_chunk_once_in_each_direction) {
  const Pipeline& p = GetParam();
  for (const auto& order : make_schedule(p.kind, p.stages, p.microbatches, p.chunks).stages) {
    std::map<std::tuple<int, int, TaskPass>, int> seen;
    for (const Task& task : order) ++seen[{task.microbatch, task.chunk, task.pass}];
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(2 * p.microbatches * p.chunks));
    for (const auto& [task, times] : seen) EXPECT_EQ(times, 1);
  }
}

TEST_P(EverySchedule, never_runs_a_backward_before_its_forward) {
  const Pipeline& p = GetParam();
  for (const auto& order : make_schedule(p.kind, p.stages, p.microbatches, p.chunks).stages) {
    std::map<std::tuple<int, int>, bool> forwarded;
    for (const Task& task : order) {
      bool& done = forwarded[{task.microbatch, task.chunk}];
      EXPECT_EQ(task.pass == TaskPass::Backward, done);
      done = true;
    }
  }
}

TEST_P(EverySchedule, keeps_as_many_chunks_alive_as_the_closed_form_says) {
  const Pipeline& p = GetParam();
  const Schedule schedule = make_schedule(p.kind, p.stages, p.microbatches, p.chunks);
  for (int stage = 0; stage < p.stages; ++stage) {
    EXPECT_EQ(most_alive(schedule.stages[static_cast<std::size_t>(stage)]),
              chunks_in_flight(p.kind, p.stages, p.microbatches, p.chunks, stage))
        << "stage " << stage;
  }
}

INSTANTIATE_TEST_SUITE_P(
    table, EverySchedule,
    testing::Values(Pipeline{"gpipe", ScheduleKind::GPipe, 4, 8, 1},
                    Pipeline{"one_stage", ScheduleKind::OneFOneB, 1, 5, 1},
                    Pipeline{"one_f_one_b", ScheduleKind::OneFOneB, 4, 8, 1},
                    Pipeline{"fewer_microbatches_than_stages", ScheduleKind::OneFOneB, 8, 3, 1},
                    Pipeline{"one_microbatch", ScheduleKind::OneFOneB, 4, 1, 1},
                    Pipeline{"interleaved_2", ScheduleKind::Interleaved, 4, 8, 2},
                    Pipeline{"interleaved_4", ScheduleKind::Interleaved, 8, 16, 4},
                    Pipeline{"interleaved_one_group", ScheduleKind::Interleaved, 4, 4, 3}),
    [](const auto& row) { return row.param.name; });

// Peak activations by schedule in units of one full stage (FORMULAS S1; zero-bubble figures: arXiv:2401.10241
// table 2).
TEST(chunks_in_flight, matches_the_published_peaks) {
  struct Case {
    const char* what;
    ScheduleKind kind;
    int chunks, stage;
    double expected;
  };
  const Case cases[] = {
      {"1F1B, first of 8 stages", ScheduleKind::OneFOneB, 1, 0, 8},
      {"1F1B, last stage", ScheduleKind::OneFOneB, 1, 7, 1},
      {"interleaved, first stage: p + (p-1)/v", ScheduleKind::Interleaved, 2, 0, 2 * 8 + 7},
      {"ZB-H1 keeps p everywhere", ScheduleKind::ZbH1, 1, 7, 8},
      {"ZB-V keeps 2p half stages", ScheduleKind::Zbv, 2, 3, 16},
      {"DualPipeV keeps one more", ScheduleKind::DualPipeV, 2, 3, 17},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(chunks_in_flight(c.kind, 8, 32, c.chunks, c.stage), c.expected);
  }
}

TEST(microbatches_in_flight, vocabulary_parallelism_adds_one_per_barrier) {
  Layout layout{.pp = 8};
  const double plain = microbatches_in_flight(layout, 64, 2);
  layout.vocab = VocabParallel::AllStagesOneBarrier;
  EXPECT_EQ(microbatches_in_flight(layout, 64, 2), plain + 1);
  layout.vocab = VocabParallel::AllStagesTwoBarriers;
  EXPECT_EQ(microbatches_in_flight(layout, 64, 2), plain + 2);
}

}  // namespace
}  // namespace hexaplan::costmodel
