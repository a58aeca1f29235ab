#include "costmodel/schedule/schedule.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "costmodel/schedule/replay.h"
#include "costmodel/spec/chunk_order.h"

namespace hexaplan::costmodel {
namespace {

/// "F0 F1 B0": a chunk other than the first is marked by ticks, a pair by "+".
std::string text_of(const std::vector<Task>& order) {
  std::string text;
  for (const Task& task : order) {
    text += "FIWB"[static_cast<int>(task.pass)];
    text += std::to_string(task.microbatch) + std::string(static_cast<std::size_t>(task.chunk), '\'');
    text += task.with_next ? '+' : ' ';
  }
  text.pop_back();
  return text;
}

TEST(make_schedule, orders_are_those_of_the_sources) {
  struct Case {
    const char* what;
    ScheduleKind kind;
    int stages, microbatches, chunks, stage;
    const char* order;
  };
  const Case cases[] = {
      {"GPipe", ScheduleKind::GPipe, 2, 3, 1, 0, "F0 F1 F2 B0 B1 B2"},
      {"1F1B, first of three", ScheduleKind::OneFOneB, 3, 4, 1, 0, "F0 F1 F2 B0 F3 B1 B2 B3"},
      {"1F1B, last", ScheduleKind::OneFOneB, 3, 3, 1, 2, "F0 B0 F1 B1 F2 B2"},
      {"1F1B, fewer micro-batches than stages", ScheduleKind::OneFOneB, 4, 2, 1, 0, "F0 F1 B0 B1"},
      {"interleaved", ScheduleKind::Interleaved, 2, 2, 2, 1, "F0 F1 F0' B0' F1' B1' B0 B1"},
      {"interleaved, a remainder joins the group", ScheduleKind::Interleaved, 2, 3, 2, 1,
       "F0 F1 F2 F0' B0' F1' B1' F2' B2' B0 B1 B2"},
      {"ZB-H1, last: weights wait for as many passes as stages lie before", ScheduleKind::ZbH1, 3, 4, 1, 2,
       "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3"},
      {"ZB-H2, first of two", ScheduleKind::Zb2p, 2, 4, 1, 0, "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3"},
      {"ZB-V, last of two", ScheduleKind::Zbv, 2, 3, 1, 1,
       "F0 F0' F1 F1' I0' W0' F2 I0 W0 F2' I1' W1' I1 I2' I2 W1 W2' W2"},
      {"DualPipeV, one stage", ScheduleKind::DualPipeV, 1, 2, 1, 0, "F0 F0' F1 B0' F1'+B0 B1' I1 W1"},
      {"DualPipe, first of two: the second half comes from the other end", ScheduleKind::DualPipe, 2, 4, 1, 0,
       "F0 F2' F1 B2' F3'+B0 B3' I1 W1"},
      {"DualPipe, last of two: the same, mirrored", ScheduleKind::DualPipe, 2, 4, 1, 1,
       "F2' F0 F3' B0 F1+B2' B1 I3' W3'"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Schedule schedule = make_schedule(c.kind, c.stages, c.microbatches, c.chunks);
    EXPECT_EQ(text_of(schedule.stages[static_cast<std::size_t>(c.stage)]), c.order);
  }
}

// Peak activations by schedule in units of one chunk (zero-bubble: arXiv:2401.10241 table 2; V-shaped:
// arXiv:2405.15362 §4; DualPipe: deepseek-ai/DualPipe README and code; PyTorch's orders counted one by one).
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
      {"ZB-H1 of 2 chunks keeps 2p", ScheduleKind::ZbH1, 2, 3, 16},
      {"ZB-H2 keeps 2p-1", ScheduleKind::Zb2p, 1, 0, 15},
      {"ZB-V keeps 2p half stages", ScheduleKind::Zbv, 2, 3, 16},
      {"V-Half keeps half of that and two", ScheduleKind::VHalf, 2, 5, 10},
      {"DualPipe keeps P+1 chunks of L/P", ScheduleKind::DualPipe, 2, 0, 9},
      {"DualPipeV keeps one more than ZB-V", ScheduleKind::DualPipeV, 2, 3, 17},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(chunks_in_flight(c.kind, 8, 32, c.chunks, c.stage), c.expected);
  }
}

struct Times {
  double forward, input, weight;
};

/// Waiting of the whole pipeline in units of a full stage.
double bubble(ScheduleKind kind, int stages, int microbatches, int vpp, Times t) {
  const int chunks = chunks_per_stage(kind, vpp);
  const double parts = static_cast<double>(chunks) / model_copies(kind);
  const ChunkSeconds one{Seconds{t.forward / parts}, Seconds{t.input / parts}, Seconds{t.weight / parts}};
  const std::vector<ChunkSeconds> all(static_cast<std::size_t>(stages * chunks), one);
  const Schedule schedule = make_schedule(kind, stages, microbatches, vpp);
  return pipeline_time(schedule, all).value() - microbatches * (t.forward + t.input + t.weight);
}

// Orders of PyTorch torch/distributed/pipelining/schedules.py @1fd7abc2 (1F1B, interleaved, ZB1P, ZBV,
// DualPipeV), run with dependencies by a program of its own; p = 4, m = 16, messages free. DualPipe: README's
// (P/2 − 1)(F&B + B − 3W) where F = I = W. ZB-H2: arXiv:2401.10241 table 2, (p − 1)(F + I − 2W).
TEST(pipeline_time, waits_as_long_as_the_published_orders) {
  struct Case {
    const char* what;
    ScheduleKind kind;
    int vpp;
    Times times;
    double bubble;
  };
  const Case cases[] = {
      {"GPipe: (p-1)(F+I+W)", ScheduleKind::GPipe, 1, {1, 1, 1}, 9},
      {"1F1B: (p-1)(F+I+W)", ScheduleKind::OneFOneB, 1, {1, 1.3, .8}, 9.3},
      {"interleaved: divided by v", ScheduleKind::Interleaved, 2, {1, 1.3, .8}, 4.65},
      {"ZB1P: (p-1)(F+I-W)", ScheduleKind::ZbH1, 1, {1, 1.3, .8}, 4.5},
      {"ZB1P, W > F: (p-1)F", ScheduleKind::ZbH1, 1, {1, .8, 1.2}, 3},
      {"ZB1P, two chunks: divided by v", ScheduleKind::ZbH1, 2, {1, 1, 1}, 1.5},
      {"ZB2P: (p-1)(F+I-2W)", ScheduleKind::Zb2p, 1, {1, 1.5, .5}, 4.5},
      {"ZB2P, even passes: nothing", ScheduleKind::Zb2p, 1, {1, 1, 1}, 0},
      {"ZBV: (p-1)F/2", ScheduleKind::Zbv, 1, {1, 1, 1}, 1.5},
      {"ZBV", ScheduleKind::Zbv, 1, {1, 1.3, .8}, 1.95},
      {"ZBV", ScheduleKind::Zbv, 1, {1, 1.5, .5}, 3},
      {"ZBV", ScheduleKind::Zbv, 1, {1, .8, 1.2}, 1.7},
      {"ZBV", ScheduleKind::Zbv, 1, {1.2, 1, 1}, 2},
      {"DualPipeV: (p-1)F", ScheduleKind::DualPipeV, 1, {1, 1, 1}, 3},
      {"DualPipe: (P/2-1)(F&B+B-3W)", ScheduleKind::DualPipe, 1, {1, 1, 1}, 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_NEAR(bubble(c.kind, 4, 16, c.vpp, c.times), c.bubble, 1e-9);
  }
}

/// sail-sg/zero-bubble-pipeline-parallelism@39f2c186 zbv_greedy.py, run with do_reorder=False.
TEST(pipeline_time, of_v_half_is_that_of_its_building_block) {
  EXPECT_NEAR(bubble(ScheduleKind::VHalf, 4, 16, 1, {2, 2, 2}), 12, 1e-9);
  EXPECT_NEAR(bubble(ScheduleKind::VHalf, 5, 20, 1, {2, 2, 2}), 14, 1e-9);
  EXPECT_NEAR(bubble(ScheduleKind::VHalf, 8, 32, 1, {2, 2, 2}), 26, 1e-9);
}

TEST(chunk_order, says_which_part_of_the_model_a_chunk_is) {
  struct Case {
    const char* what;
    ScheduleKind kind;
    StageChunk at;
    int position;
    std::optional<StageChunk> next;
  };
  const Case cases[] = {
      {"interleaved: the next stage", ScheduleKind::Interleaved, {1, 0}, 1, StageChunk{2, 0}},
      {"interleaved: from the last stage to the first",
       ScheduleKind::Interleaved,
       {3, 0},
       3,
       StageChunk{0, 1}},
      {"V: turns on the last stage", ScheduleKind::Zbv, {3, 0}, 3, StageChunk{3, 1}},
      {"V: climbs again", ScheduleKind::Zbv, {2, 1}, 5, StageChunk{1, 1}},
      {"V: ends where it began", ScheduleKind::Zbv, {0, 1}, 7, std::nullopt},
      {"DualPipe: one copy goes down", ScheduleKind::DualPipe, {3, 0}, 3, std::nullopt},
      {"DualPipe: the other one up", ScheduleKind::DualPipe, {3, 1}, 0, StageChunk{2, 1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(chunk_position(c.kind, 4, c.at), c.position);
    EXPECT_EQ(next_chunk(c.kind, 4, 2, c.at), c.next);
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
