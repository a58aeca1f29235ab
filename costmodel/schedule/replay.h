#pragma once
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

/// What has arrived at a chunk and waits to be used, by row (chunk and direction) and micro-batch: a place
/// for each, the fastest way for orders of some thousand tasks.
class ArrivalTable {
 public:
  ArrivalTable(std::size_t rows, int microbatches)
      : microbatches_{static_cast<std::size_t>(microbatches)}, when_(rows * microbatches_, kMissing) {}

  /// When it arrives; nothing: nobody has sent it yet.
  [[nodiscard]] const double* find(std::size_t row, int microbatch) const {
    const double& when = when_[place(row, microbatch)];
    return when == kMissing ? nullptr : &when;
  }
  void add(std::size_t row, int microbatch, double when) { when_[place(row, microbatch)] = when; }
  void remove(std::size_t /*row*/, int /*microbatch*/) {}  // nobody asks again

 private:
  static constexpr double kMissing = -1;
  [[nodiscard]] std::size_t place(std::size_t row, int microbatch) const {
    return row * microbatches_ + static_cast<std::size_t>(microbatch);
  }

  std::size_t microbatches_;
  std::vector<double> when_;
};

/// The same where orders are long. Few micro-batches wait at once: a row is a ring of them, longer where an
/// order needs it.
class ArrivalRings {
 public:
  ArrivalRings(std::size_t rows, int /*microbatches*/) : slots_(rows * length_) {}

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

  std::size_t length_ = 8;  // of a row: a power of two
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
template <class Clock, class Arrivals>
class Replay {
 public:
  Replay(const Schedule& schedule, Clock& clock)
      : schedule_{schedule},
        clock_{clock},
        chunks_{static_cast<std::size_t>(schedule.chunks)},
        arrivals_{2 * schedule.stages.size() * chunks_, schedule.microbatches},
        position_(schedule.stages.size()),
        waits_for_(schedule.stages.size()) {
    link_chunks();
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

  /// Rows of arrivals (chunk and direction) of one chunk's passes, and who waits for its output.
  struct Link {
    std::size_t input = kNothing, output = kNothing, receiver = kNothing;
  };
  /// What a stage waits for.
  struct Awaited {
    std::size_t row = kNothing;
    int microbatch = 0;
    friend bool operator==(const Awaited&, const Awaited&) = default;
  };

  /// Inputs of forwards arrive in the first rows, gradients of outputs behind them, by receiving chunk.
  void link_chunks() {
    const ChunkLinks links{schedule_};
    const std::size_t all = links.next.size();
    links_.resize(2 * all);
    const auto link = [&](std::size_t chunk, std::size_t first_row, int from, int to) {
      Link& linked = links_[first_row + chunk];
      if (from >= 0) linked.input = first_row + chunk;
      if (to < 0) return;
      linked.output = first_row + static_cast<std::size_t>(to);
      linked.receiver = static_cast<std::size_t>(to) / chunks_;
    };
    for (std::size_t chunk = 0; chunk < all; ++chunk) {
      link(chunk, 0, links.previous[chunk], links.next[chunk]);
      link(chunk, all, links.next[chunk], links.previous[chunk]);
    }
  }

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
    const Link link = link_of(task);
    double arrived = 0;
    if (misses(task, link, arrived)) return 0;
    if (!task.with_next) {
      ++position_[stage];
      use(task, link);
      deliver(task, link, clock_.run(task, Seconds{arrived}));
      return 1;
    }
    const Task& partner = order[position_[stage] + 1];
    const Link of_partner = link_of(partner);
    if (misses(partner, of_partner, arrived)) return 0;
    position_[stage] += 2;
    use(task, link);
    use(partner, of_partner);
    const auto [first, second] = clock_.run_pair(task, partner, Seconds{arrived});
    deliver(task, link, first);
    deliver(partner, of_partner, second);
    return 2;
  }

  /// Weights' gradients come from nobody and go to nobody.
  [[nodiscard]] Link link_of(const Task& task) const {
    if (task.pass == TaskPass::BackwardWeight) return {};
    const std::size_t chunk =
        static_cast<std::size_t>(task.stage) * chunks_ + static_cast<std::size_t>(task.chunk);
    return links_[task.pass == TaskPass::Forward ? chunk : chunk + links_.size() / 2];
  }

  /// True when what the task needs has not arrived: its stage then waits for it. Otherwise raises `arrived`.
  bool misses(const Task& task, const Link& link, double& arrived) {
    if (link.input == kNothing) return false;
    const double* when = arrivals_.find(link.input, task.microbatch);
    if (when == nullptr) {
      waits_for_[static_cast<std::size_t>(task.stage)] = {link.input, task.microbatch};
      return true;
    }
    if (*when > arrived) arrived = *when;
    return false;
  }

  /// The task runs: what has arrived for it waits no longer.
  void use(const Task& task, const Link& link) {
    if (link.input != kNothing) arrivals_.remove(link.input, task.microbatch);
  }

  void deliver(const Task& task, const Link& link, Seconds when) {
    if (link.output == kNothing) return;
    arrivals_.add(link.output, task.microbatch, when.value());
    Awaited& awaited = waits_for_[link.receiver];
    if (awaited != Awaited{link.output, task.microbatch}) return;
    awaited = {};
    ready_.push_back(link.receiver);
  }

  const Schedule& schedule_;
  Clock& clock_;
  std::size_t chunks_;
  std::vector<Link> links_;  // by row of a pass's input
  Arrivals arrivals_;
  std::vector<std::size_t> position_;  // by stage
  std::vector<Awaited> waits_for_;
  std::vector<std::size_t> ready_;  // stages that may run
};

/// Replay{schedule, clock}.run().
template <class Clock>
std::size_t replay(const Schedule& schedule, Clock& clock) {
  constexpr std::size_t kLargestTable = 1 << 17;  // places: 1 MiB
  const std::size_t places = 2 * schedule.stages.size() * static_cast<std::size_t>(schedule.chunks) *
                             static_cast<std::size_t>(schedule.microbatches);
  if (places <= kLargestTable) return Replay<Clock, ArrivalTable>{schedule, clock}.run();
  return Replay<Clock, ArrivalRings>{schedule, clock}.run();
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
  Seconds waits_before, waits_behind;                 // its forward and its weights' gradients: nothing hides
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
