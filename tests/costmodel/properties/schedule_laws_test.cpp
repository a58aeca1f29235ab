#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "costmodel/schedule/replay.h"
#include "costmodel/schedule/schedule.h"

namespace hexaplan::costmodel {
namespace {

struct Case {
  ScheduleKind kind;
  int stages, microbatches, chunks;
};

/// Any schedule with any number of micro-batches: fewer than stages, and not a multiple of them.
Case any_case() {
  Case c{.kind = *rc::gen::element(ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::Interleaved,
                                   ScheduleKind::ZbH1, ScheduleKind::Zb2p, ScheduleKind::Zbv,
                                   ScheduleKind::VHalf, ScheduleKind::DualPipe, ScheduleKind::DualPipeV),
         .stages = *rc::gen::inRange(1, 17),
         .microbatches = *rc::gen::inRange(1, 65),
         .chunks = 1};
  const bool interleaves = c.kind == ScheduleKind::Interleaved || c.kind == ScheduleKind::ZbH1;
  if (interleaves && c.stages > 1) c.chunks = *rc::gen::inRange(1, 5);
  if (c.kind == ScheduleKind::DualPipe) c.stages += c.stages % 2;
  c.chunks = chunks_per_stage(c.kind, c.chunks);
  return c;
}

Schedule schedule_of(const Case& c) {
  return make_schedule(c.kind, c.stages, c.microbatches, c.chunks);
}

int most_alive(const std::vector<Task>& tasks) {
  int alive = 0, most = 0;
  for (const Task& task : tasks) {
    if (task.pass == TaskPass::Forward) ++alive;
    if (task.pass == TaskPass::Backward || task.pass == TaskPass::BackwardWeight) --alive;
    most = std::max(most, alive);
  }
  return most;
}

/// What has run of one micro-batch on one chunk.
enum class Progress : std::uint8_t { Nothing, Forward, Input, Done };

/// The state that `pass` needs and the one it leaves.
std::pair<Progress, Progress> step_of(TaskPass pass) {
  switch (pass) {
    case TaskPass::Forward:
      return {Progress::Nothing, Progress::Forward};
    case TaskPass::BackwardInput:
      return {Progress::Forward, Progress::Input};
    case TaskPass::BackwardWeight:
      return {Progress::Input, Progress::Done};
    case TaskPass::Backward:
      break;
  }
  return {Progress::Forward, Progress::Done};
}

RC_GTEST_PROP(schedule_laws, every_microbatch_goes_forward_then_backward_through_every_chunk_it_meets, ()) {
  const Case c = any_case();
  const Schedule schedule = schedule_of(c);
  RC_ASSERT(static_cast<int>(schedule.stages.size()) == c.stages);
  for (const auto& tasks : schedule.stages) {
    std::vector<std::vector<Progress>> progress(
        static_cast<std::size_t>(c.chunks),
        std::vector<Progress>(static_cast<std::size_t>(c.microbatches), Progress::Nothing));
    for (const Task& task : tasks) {
      const auto [first, end] = microbatches_of_chunk(c.kind, c.microbatches, task.chunk);
      RC_ASSERT(task.microbatch >= first && task.microbatch < end);
      Progress& now =
          progress[static_cast<std::size_t>(task.chunk)][static_cast<std::size_t>(task.microbatch)];
      const auto [before, after] = step_of(task.pass);
      RC_ASSERT(now == before);
      now = after;
    }
    for (int chunk = 0; chunk < c.chunks; ++chunk) {
      const auto [first, end] = microbatches_of_chunk(c.kind, c.microbatches, chunk);
      const auto& of_chunk = progress[static_cast<std::size_t>(chunk)];
      RC_ASSERT(std::all_of(of_chunk.begin() + first, of_chunk.begin() + end,
                            [](Progress p) { return p == Progress::Done; }));
    }
  }
}

/// Counts; a task takes no time.
struct Untimed {
  static Seconds run(const Task& /*task*/, Seconds arrived) { return arrived; }
  static std::pair<Seconds, Seconds> run_pair(const Task& /*forward*/, const Task& /*backward*/,
                                              Seconds arrived) {
    return {arrived, arrived};
  }
};

RC_GTEST_PROP(schedule_laws, stages_never_wait_for_each_other_in_a_circle, ()) {
  const Schedule schedule = schedule_of(any_case());
  std::size_t tasks = 0;
  for (const auto& order : schedule.stages) tasks += order.size();
  Untimed clock;
  RC_ASSERT(replay(schedule, clock) == tasks);
}

RC_GTEST_PROP(schedule_laws, chunks_in_flight_are_those_of_the_order, ()) {
  const Case c = any_case();
  const Schedule schedule = schedule_of(c);
  for (int stage = 0; stage < c.stages; ++stage) {
    const double expected = most_alive(schedule.stages[static_cast<std::size_t>(stage)]);
    RC_ASSERT(chunks_in_flight(c.kind, c.stages, c.microbatches, c.chunks, stage) == expected);
  }
}

RC_GTEST_PROP(schedule_laws, the_next_of_the_previous_chunk_is_the_chunk, ()) {
  const Case c = any_case();
  for (int stage = 0; stage < c.stages; ++stage) {
    for (int chunk = 0; chunk < c.chunks; ++chunk) {
      const StageChunk here{stage, chunk};
      const int position = chunk_position(c.kind, c.stages, here);
      RC_ASSERT(position >= 0 && position < chunk_positions(c.kind, c.stages, c.chunks));
      const auto before = previous_chunk(c.kind, c.stages, here);
      RC_ASSERT(before.has_value() == (position > 0));
      if (before) RC_ASSERT(next_chunk(c.kind, c.stages, c.chunks, *before) == here);
    }
  }
}

Seconds any_time() {
  return Seconds{*rc::gen::inRange(1, 1000) * 1e-3};
}

RC_GTEST_PROP(schedule_laws, equal_stages_wait_as_long_as_the_closed_form_says, ()) {
  Case c = any_case();
  c.kind = *rc::gen::element(ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::Interleaved);
  c.chunks = c.kind == ScheduleKind::Interleaved && c.stages > 1 ? *rc::gen::inRange(2, 5) : 1;
  if (c.chunks > 1) c.microbatches = c.stages * *rc::gen::inRange(1, 9);
  const ChunkSeconds one{any_time(), any_time(), any_time()};
  const std::vector<ChunkSeconds> chunks(static_cast<std::size_t>(c.stages * c.chunks), one);
  const double expected = one.total().value() * (c.microbatches * c.chunks + c.stages - 1);
  const double span = pipeline_time(schedule_of(c), chunks).value();
  RC_ASSERT(std::abs(span - expected) <= 1e-9 * expected);
}

RC_GTEST_PROP(schedule_laws, no_stage_computes_longer_than_the_step_nor_a_microbatch_faster_than_its_path,
              ()) {
  const Case c = any_case();
  std::vector<ChunkSeconds> chunks;
  for (int i = 0; i < c.stages * c.chunks; ++i) chunks.push_back({any_time(), any_time(), any_time()});
  const Schedule schedule = schedule_of(c);
  const double span = pipeline_time(schedule, chunks).value();
  Seconds all;
  for (int stage = 0; stage < c.stages; ++stage) {
    Seconds busy;
    for (int chunk = 0; chunk < c.chunks; ++chunk) {
      const auto [first, end] = microbatches_of_chunk(c.kind, c.microbatches, chunk);
      busy += chunks[static_cast<std::size_t>(stage * c.chunks + chunk)].total() * (end - first);
    }
    RC_ASSERT(span >= busy.value() * (1 - 1e-9));
    all += busy;
  }
  RC_ASSERT(span <= all.value() * (1 + 1e-9));
}

}  // namespace
}  // namespace hexaplan::costmodel
