#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// Which chunk feeds which, by index stage · chunks + chunk; -1 where the model begins or ends.
struct ChunkLinks {
  explicit ChunkLinks(const Schedule& schedule);
  std::vector<int> next, previous;
};

/// Runs a schedule task by task, every stage in its own order, each task as soon as what it needs has
/// arrived. `Clock` says how long things take and keeps the time of every stage:
///   Seconds run(const Task&, Seconds arrived): starts the task on its stage at or after `arrived`, returns
///     when its output reaches the chunk that waits for it;
///   std::pair<Seconds, Seconds> run_pair(const Task& forward, const Task& backward, Seconds arrived): both
///   at
///     once.
/// Returns the number of tasks that ran: all of them, unless the orders block each other.
template <class Clock>
std::size_t replay(const Schedule& schedule, Clock& clock) {
  const ChunkLinks links{schedule};
  const auto microbatches = static_cast<std::size_t>(schedule.microbatches);
  const auto chunks = static_cast<std::size_t>(schedule.chunks);
  const std::size_t stages = schedule.stages.size();
  constexpr double kMissing = -1;
  // When inputs (0) and gradients of outputs (1) arrive at a chunk, by micro-batch.
  std::vector<double> arrivals(2 * stages * chunks * microbatches, kMissing);
  const auto slot = [&](std::size_t direction, std::size_t chunk, int microbatch) {
    return (direction * stages * chunks + chunk) * microbatches + static_cast<std::size_t>(microbatch);
  };
  const auto index_of = [&](const Task& task) {
    return static_cast<std::size_t>(task.stage) * chunks + static_cast<std::size_t>(task.chunk);
  };
  constexpr std::size_t kNothing = static_cast<std::size_t>(-1);
  const auto needs = [&](const Task& task) {
    if (task.pass == TaskPass::BackwardWeight) return kNothing;
    const bool forward = task.pass == TaskPass::Forward;
    const std::size_t chunk = index_of(task);
    if ((forward ? links.previous : links.next)[chunk] < 0) return kNothing;
    return slot(forward ? 0 : 1, chunk, task.microbatch);
  };
  std::vector<std::size_t> position(stages, 0), waits_for(stages, kNothing);
  std::vector<std::size_t> ready(stages);
  for (std::size_t s = 0; s < stages; ++s) ready[s] = stages - 1 - s;
  const auto deliver = [&](const Task& task, Seconds when) {
    if (task.pass == TaskPass::BackwardWeight) return;
    const bool forward = task.pass == TaskPass::Forward;
    const int to = (forward ? links.next : links.previous)[index_of(task)];
    if (to < 0) return;
    const std::size_t place = slot(forward ? 0 : 1, static_cast<std::size_t>(to), task.microbatch);
    arrivals[place] = when.value();
    const std::size_t receiver = static_cast<std::size_t>(to) / chunks;
    if (waits_for[receiver] == place) waits_for[receiver] = kNothing, ready.push_back(receiver);
  };
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::size_t s = ready.back();
    ready.pop_back();
    const std::vector<Task>& order = schedule.stages[s];
    while (position[s] < order.size()) {
      const Task& task = order[position[s]];
      double arrived = 0;
      const auto missing = [&](std::size_t place) {
        if (place == kNothing) return false;
        if (arrivals[place] == kMissing) {
          waits_for[s] = place;
          return true;
        }
        if (arrivals[place] > arrived) arrived = arrivals[place];
        return false;
      };
      if (missing(needs(task))) break;
      if (task.with_next) {
        const Task& partner = order[position[s] + 1];
        if (missing(needs(partner))) break;
        const auto [forward, backward] = clock.run_pair(task, partner, Seconds{arrived});
        deliver(task, forward);
        deliver(partner, backward);
        position[s] += 2, done += 2;
      } else {
        deliver(task, clock.run(task, Seconds{arrived}));
        ++position[s], ++done;
      }
    }
  }
  return done;
}

/// Steps after which drifting stages (`drifts`) keep their distance to each other; the first one spreads
/// them.
inline constexpr int kDriftingSteps = 4;
/// Longest time of a stage between `begin` and `end`; `begin` becomes the stages' next beginning, the
/// earliest at 0.
Seconds next_step(const std::vector<Seconds>& end, std::vector<Seconds>& begin);

/// Time of one micro-batch on one chunk.
struct ChunkSeconds {
  Seconds forward, backward_input, backward_weight;
  [[nodiscard]] constexpr Seconds total() const { return forward + backward_input + backward_weight; }
};

/// Time from the first task to the last, messages free; where stages drift, from one step to the next.
/// `chunks` is indexed stage · chunks + chunk. Preconditions: sizes agree; the orders do not block each other
/// (those of make_schedule never do).  [docs/formulas.md#S3]
[[nodiscard]] Seconds pipeline_time(const Schedule& schedule, const std::vector<ChunkSeconds>& chunks);

}  // namespace hexaplan::costmodel
