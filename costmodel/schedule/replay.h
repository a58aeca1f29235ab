#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
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

/// What has arrived at a chunk and waits to be used, by row (chunk and direction) and micro-batch. An order
/// lets few wait at once: a row is a ring of micro-batches, longer where an order needs it.
class Arrivals {
 public:
  Arrivals(std::size_t rows, int microbatches, int usual)
      : length_{std::bit_ceil(static_cast<std::uint32_t>(std::min(microbatches, usual)))},
        slots_(rows * length_) {}

  /// When it arrives; nothing: nobody has sent it yet.
  [[nodiscard]] const double* find(std::size_t row, int microbatch) const {
    const Slot& slot = slots_[place(row, microbatch)];
    return slot.microbatch == microbatch ? &slot.when : nullptr;
  }
  void add(std::size_t row, int microbatch, double when) {
    while (slots_[place(row, microbatch)].microbatch != kFree) lengthen();
    slots_[place(row, microbatch)] = {when, microbatch};
  }
  void remove(std::size_t row, int microbatch) { slots_[place(row, microbatch)].microbatch = kFree; }

 private:
  static constexpr int kFree = -1;
  struct Slot {
    double when = 0;
    int microbatch = kFree;
  };
  [[nodiscard]] std::size_t place(std::size_t row, int microbatch) const {
    return row * length_ + (static_cast<std::uint32_t>(microbatch) & (length_ - 1));
  }
  void lengthen() {
    const std::vector<Slot> before = std::move(slots_);
    const std::size_t length = std::exchange(length_, 2 * length_);
    slots_.assign(2 * before.size(), Slot{});
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].microbatch != kFree) slots_[place(i / length, before[i].microbatch)] = before[i];
    }
  }

  std::size_t length_;  // of a row: a power of two
  std::vector<Slot> slots_;
};

/// Runs a schedule task by task, every stage in its own order, each task as soon as what it needs has
/// arrived. `Clock` says how long things take and keeps the time of every stage:
///   Seconds run(const Task&, Seconds arrived): starts the task on its stage at or after `arrived`, returns
///     when its output reaches the chunk that waits for it;
///   std::pair<Seconds, Seconds> run_pair(const Task& forward, const Task& backward, Seconds arrived): both
///   at
///     once;
///   bool stopped(), if it has one: true ends the replay before the next task.
template <class Clock>
class Replay {
 public:
  Replay(const Schedule& schedule, Clock& clock)
      : schedule_{schedule},
        clock_{clock},
        links_{schedule},
        microbatches_{static_cast<std::size_t>(schedule.microbatches)},
        chunks_{static_cast<std::size_t>(schedule.chunks)},
        arrivals_(2 * schedule.stages.size() * chunks_, schedule.microbatches,
                  2 * static_cast<int>(schedule.stages.size())),
        position_(schedule.stages.size()),
        waits_for_(schedule.stages.size(), kNothing) {
    for (std::size_t s = schedule.stages.size(); s > 0; --s) ready_.push_back(s - 1);
  }

  /// Number of tasks that ran: all of them, unless the orders block each other or the clock has stopped.
  std::size_t run() {
    std::size_t done = 0;
    while (!ready_.empty()) {
      const std::size_t stage = ready_.back();
      ready_.pop_back();
      while (const std::size_t ran = run_next(stage)) {
        done += ran;
        if (stopped()) return done;
      }
    }
    return done;
  }

 private:
  static constexpr auto kNothing = static_cast<std::size_t>(-1);

  [[nodiscard]] bool stopped() {
    if constexpr (requires { clock_.stopped(); }) return clock_.stopped();
    return false;
  }

  /// Runs a stage's next task, or the pair it begins; 0 when it has to wait or is at its end.
  std::size_t run_next(std::size_t stage) {
    const std::vector<Task>& order = schedule_.stages[stage];
    if (position_[stage] == order.size()) return 0;
    const Task& task = order[position_[stage]];
    __builtin_prefetch(&task + 3);  // stages take turns
    double arrived = 0;
    if (misses(task, stage, arrived)) return 0;
    if (!task.with_next) {
      ++position_[stage];
      use(task);
      deliver(task, clock_.run(task, Seconds{arrived}));
      return 1;
    }
    const Task& partner = order[position_[stage] + 1];
    if (misses(partner, stage, arrived)) return 0;
    position_[stage] += 2;
    use(task);
    use(partner);
    const auto [first, second] = clock_.run_pair(task, partner, Seconds{arrived});
    deliver(task, first);
    deliver(partner, second);
    return 2;
  }

  [[nodiscard]] std::size_t chunk_of(const Task& task) const {
    return static_cast<std::size_t>(task.stage) * chunks_ + static_cast<std::size_t>(task.chunk);
  }
  /// Row of an arrival: inputs first, then gradients of outputs, by receiving chunk.
  [[nodiscard]] std::size_t row(bool input, std::size_t chunk) const {
    return (input ? 0 : schedule_.stages.size() * chunks_) + chunk;
  }
  [[nodiscard]] std::size_t place(std::size_t row, int microbatch) const {
    return row * microbatches_ + static_cast<std::size_t>(microbatch);
  }

  /// True when what the task needs has not arrived: its stage then waits for it. Otherwise raises `arrived`.
  bool misses(const Task& task, std::size_t stage, double& arrived) {
    if (task.pass == TaskPass::BackwardWeight) return false;
    const bool forward = task.pass == TaskPass::Forward;
    const std::size_t chunk = chunk_of(task);
    if ((forward ? links_.previous : links_.next)[chunk] < 0) return false;
    const std::size_t at = row(forward, chunk);
    const double* when = arrivals_.find(at, task.microbatch);
    if (when == nullptr) {
      waits_for_[stage] = place(at, task.microbatch);
      return true;
    }
    if (*when > arrived) arrived = *when;
    return false;
  }

  /// The task runs: what has arrived for it waits no longer.
  void use(const Task& task) {
    if (task.pass == TaskPass::BackwardWeight) return;
    const bool forward = task.pass == TaskPass::Forward;
    const std::size_t chunk = chunk_of(task);
    if ((forward ? links_.previous : links_.next)[chunk] >= 0)
      arrivals_.remove(row(forward, chunk), task.microbatch);
  }

  void deliver(const Task& task, Seconds when) {
    if (task.pass == TaskPass::BackwardWeight) return;
    const bool forward = task.pass == TaskPass::Forward;
    const int to = (forward ? links_.next : links_.previous)[chunk_of(task)];
    if (to < 0) return;
    const std::size_t receives = row(forward, static_cast<std::size_t>(to));
    arrivals_.add(receives, task.microbatch, when.value());
    const std::size_t receiver = static_cast<std::size_t>(to) / chunks_;
    if (waits_for_[receiver] != place(receives, task.microbatch)) return;
    waits_for_[receiver] = kNothing;
    ready_.push_back(receiver);
  }

  const Schedule& schedule_;
  Clock& clock_;
  ChunkLinks links_;
  std::size_t microbatches_, chunks_;
  Arrivals arrivals_;
  std::vector<std::size_t> position_, waits_for_;  // by stage
  std::vector<std::size_t> ready_;                 // stages that may run
};

/// Replay{schedule, clock}.run().
template <class Clock>
std::size_t replay(const Schedule& schedule, Clock& clock) {
  return Replay<Clock>{schedule, clock}.run();
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
  Seconds forward_collectives, backward_collectives;  // shares of forward and backward_input that may hide
  [[nodiscard]] constexpr Seconds total() const { return forward + backward_input + backward_weight; }
};

/// Time from the first task to the last, messages free; where stages drift, from one step to the next.
/// `chunks` is indexed stage · chunks + chunk. Preconditions: sizes agree; the orders do not block each other
/// (those of make_schedule never do). Of a pair the collectives run beside the kernels, which they slow down
/// by `slowdown`.  [docs/formulas.md#S3]
[[nodiscard]] Seconds pipeline_time(const Schedule& schedule, const std::vector<ChunkSeconds>& chunks,
                                    double slowdown = 1);

/// The same of the order that make_schedule gives. An order repeats itself once the pipeline is full, and so
/// grows by the same time with every further 2·`stages` micro-batches: a long one is continued from three
/// short ones whose times grow evenly.  [docs/formulas.md#S3]
[[nodiscard]] Seconds pipeline_time(ScheduleKind kind, int stages, int microbatches, int chunks,
                                    const std::vector<ChunkSeconds>& seconds, double slowdown = 1);

}  // namespace hexaplan::costmodel
