#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "costmodel/schedule/schedule.h"

namespace hexaplan::costmodel {
namespace {

struct Case {
  ScheduleKind kind;
  int stages, microbatches, chunks;
};

Case any_case() {
  Case c{.kind = *rc::gen::element(ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::Interleaved),
         .stages = *rc::gen::inRange(1, 17),
         .microbatches = *rc::gen::inRange(1, 65),
         .chunks = 1};
  if (c.kind == ScheduleKind::Interleaved) {
    c.stages = std::max(2, c.stages);
    c.chunks = *rc::gen::inRange(2, 5);
    c.microbatches = c.stages * *rc::gen::inRange(1, 5);
  }
  return c;
}

int most_alive(const std::vector<Task>& tasks) {
  int alive = 0, most = 0;
  for (const Task& task : tasks) {
    alive += task.pass == TaskPass::Forward ? 1 : -1;
    most = std::max(most, alive);
  }
  return most;
}

RC_GTEST_PROP(schedule_laws, every_stage_runs_every_chunk_of_every_microbatch_forward_then_backward, ()) {
  const Case c = any_case();
  const Schedule schedule = make_schedule(c.kind, c.stages, c.microbatches, c.chunks);
  RC_ASSERT(static_cast<int>(schedule.stages.size()) == c.stages);
  for (const auto& tasks : schedule.stages) {
    RC_ASSERT(static_cast<int>(tasks.size()) == 2 * c.microbatches * c.chunks);
    for (auto task = tasks.begin(); task != tasks.end(); ++task) {
      if (task->pass != TaskPass::Forward) continue;
      const auto is_its_backward = [&task](const Task& other) {
        return other.pass == TaskPass::Backward && other.microbatch == task->microbatch &&
               other.chunk == task->chunk;
      };
      RC_ASSERT(std::count_if(tasks.begin(), tasks.end(), is_its_backward) == 1);
      RC_ASSERT(std::any_of(task, tasks.end(), is_its_backward));
    }
  }
}

RC_GTEST_PROP(schedule_laws, chunks_in_flight_are_those_of_the_order, ()) {
  const Case c = any_case();
  const Schedule schedule = make_schedule(c.kind, c.stages, c.microbatches, c.chunks);
  for (int stage = 0; stage < c.stages; ++stage) {
    const double expected = most_alive(schedule.stages[static_cast<std::size_t>(stage)]);
    RC_ASSERT(chunks_in_flight(c.kind, c.stages, c.microbatches, c.chunks, stage) == expected);
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
