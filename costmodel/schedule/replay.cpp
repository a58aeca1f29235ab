#include "costmodel/schedule/replay.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "costmodel/units/overlap.h"

namespace hexaplan::costmodel {
namespace {

/// Every stage computes; nothing else takes time.
class ComputeClock {
 public:
  ComputeClock(const Schedule& schedule, const std::vector<ChunkSeconds>& chunks, double slowdown,
               std::vector<Seconds> begin)
      : chunks_{chunks},
        per_stage_{static_cast<std::size_t>(schedule.chunks)},
        slowdown_{slowdown},
        now_{std::move(begin)} {
    times_.reserve(chunks.size());
    for (const ChunkSeconds& chunk : chunks)
      times_.push_back({chunk.waits_before + chunk.forward, chunk.backward_input,
                        chunk.backward_weight + chunk.waits_behind,
                        chunk.backward_input + chunk.backward_weight + chunk.waits_behind});
  }

  Seconds run(const Task& task, Seconds arrived) { return advance(task, arrived, time_of(task)); }
  std::pair<Seconds, Seconds> run_pair(const Task& forward, const Task& backward, Seconds arrived) {
    const Seconds collectives =
        chunk_of(forward).forward_collectives + chunk_of(backward).backward_collectives;
    const bool weights = backward.pass != TaskPass::BackwardInput;
    const Seconds waits =
        chunk_of(forward).waits_before + (weights ? chunk_of(backward).waits_behind : Seconds{});
    const Seconds kernels = time_of(forward) + time_of(backward) - collectives - waits;
    const Seconds end = advance(forward, arrived, waits + overlap(kernels, collectives, 1, slowdown_).total);
    return {end, end};
  }
  [[nodiscard]] const std::vector<Seconds>& now() const { return now_; }

 private:
  [[nodiscard]] std::size_t index_of(const Task& task) const {
    return static_cast<std::size_t>(task.stage) * per_stage_ + static_cast<std::size_t>(task.chunk);
  }
  [[nodiscard]] const ChunkSeconds& chunk_of(const Task& task) const { return chunks_[index_of(task)]; }
  [[nodiscard]] Seconds time_of(const Task& task) const {
    return times_[index_of(task)][static_cast<std::size_t>(task.pass)];
  }
  Seconds advance(const Task& task, Seconds arrived, Seconds work) {
    Seconds& now = now_[static_cast<std::size_t>(task.stage)];
    return now = larger(now, arrived) + work;
  }

  const std::vector<ChunkSeconds>& chunks_;
  std::vector<std::array<Seconds, 4>> times_;  // by chunk and TaskPass
  std::size_t per_stage_;
  double slowdown_;
  std::vector<Seconds> now_;
};

}  // namespace

ChunkLinks::ChunkLinks(const Schedule& schedule) {
  const int stages = static_cast<int>(schedule.stages.size()), chunks = schedule.chunks;
  const auto index = [&](const std::optional<StageChunk>& at) {
    return at ? at->stage * chunks + at->chunk : -1;
  };
  for (int stage = 0; stage < stages; ++stage) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      next.push_back(index(next_chunk(schedule.kind, stages, chunks, {stage, chunk})));
      previous.push_back(index(previous_chunk(schedule.kind, stages, {stage, chunk})));
    }
  }
}

Seconds next_step(const std::vector<Seconds>& end, std::vector<Seconds>& begin) {
  Seconds period;
  for (std::size_t s = 0; s < end.size(); ++s) period = larger(period, end[s] - begin[s]);
  const Seconds first = *std::min_element(end.begin(), end.end());
  for (std::size_t s = 0; s < end.size(); ++s) begin[s] = end[s] - first;
  return period;
}

Seconds pipeline_time(const Schedule& schedule, const std::vector<ChunkSeconds>& chunks, double slowdown) {
  std::vector<Seconds> begin(schedule.stages.size());
  Seconds time;
  for (int step = 0; step < (drifts(schedule.kind) ? kDriftingSteps : 1); ++step) {
    ComputeClock clock{schedule, chunks, slowdown, begin};
    [[maybe_unused]] const std::size_t ran = replay(schedule, clock);
    assert(ran > 0);
    time = next_step(clock.now(), begin);
  }
  return time;
}

Seconds pipeline_time(ScheduleKind kind, int stages, int microbatches, int chunks,
                      const std::vector<ChunkSeconds>& seconds, double slowdown) {
  constexpr int first_periods = 4;  // until the pipeline is full; more where stages are too unequal for that
  constexpr double rounding = 1e-10;
  const auto time_of = [&](int count) {
    return pipeline_time(*known_schedule(kind, stages, count, chunks), seconds, slowdown);
  };
  const int period = 2 * stages;
  for (int periods = first_periods; 4 * (periods + 2) * period < microbatches; periods *= 2) {
    const int least = periods * period + microbatches % period;
    const Seconds first = time_of(least), second = time_of(least + period),
                  third = time_of(least + 2 * period);
    const Seconds growth = third - second, before = second - first;
    if (std::abs((growth - before).value()) > rounding * third.value()) continue;
    return third + growth * (static_cast<double>(microbatches - least) / period - 2);
  }
  return time_of(microbatches);
}

}  // namespace hexaplan::costmodel
