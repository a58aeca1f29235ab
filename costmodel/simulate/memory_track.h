#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/stage_memory.h"

namespace hexaplan::costmodel {

/// Live bytes of a stage: those of an instant, and what micro-batches in flight keep.
struct StageLevels {
  std::array<Bytes, kInstants> base{};  // nothing in flight
  Bytes between;                        // inside the step while nothing runs
  std::vector<Bytes> kept;              // by one micro-batch on each chunk
  Bytes most_kept;                      // where activations are offloaded
  Bytes always_kept;                    // beside those in flight (vocabulary parallelism)
  Bytes waiting_loss;                   // of each micro-batch on the last chunk but the running one (GPipe)
  Bytes outside;                        // StageTimeline::outside
  /// In the stage's order; nothing where the levels above say all (needs_replay).
  std::shared_ptr<const std::vector<ReplayedTask>> tasks;
  [[nodiscard]] Bytes at(Instant instant) const { return base[index_of(instant)]; }
};
/// From the ledger of `stage`, whose chunks are `chunks`; `in_flight` as the closed form has it.
[[nodiscard]] StageLevels stage_levels(const MemoryModel& memory, const StagePlan& stage, int index,
                                       const StagePlan* chunks, int chunk_count, double in_flight,
                                       double always_in_flight);

/// Makes the levels of every stage those of its tasks. Precondition: needs_replay(scenario).
void replay_levels(const Scenario& scenario, const MemoryModel& memory, const std::vector<StagePlan>& plans,
                   std::vector<StageLevels>& stages);

/// Memory of one stage while its order runs.  [docs/formulas.md#S5]
class MemoryTrack {
 public:
  /// Follows nothing.
  MemoryTrack() = default;
  /// `points`: about so many of the curve are kept; 0 none.
  MemoryTrack(StageLevels levels, std::size_t points);

  /// The stage's next task begins.
  void begin_task(bool forward) {
    ++task_;
    if (forward) forward_ = task_;
  }
  /// From `at` on memory is as in `instant`.
  void enter(Seconds at, Instant instant) {
    if (alive_.empty()) return;
    levels_.tasks ? replayed(at, instant) : set(at, levels_.at(instant));
  }
  /// … as between tasks.
  void leave(Seconds at) {
    if (alive_.empty()) return;
    levels_.tasks ? set(at, task(task_).after) : set(at, levels_.between);
  }
  /// A micro-batch begins to be kept on a chunk, and is let go. Takes effect with the next enter or leave.
  void keep(int chunk) {
    if (!alive_.empty()) count(chunk, 1);
  }
  void release(int chunk) {
    if (!alive_.empty()) count(chunk, -1);
  }

  [[nodiscard]] Bytes peak() const { return peak_; }
  [[nodiscard]] Bytes outside() const { return levels_.outside; }
  /// Most micro-batches kept, in units of all chunks.
  [[nodiscard]] double most_in_flight() const;
  [[nodiscard]] std::vector<MemoryPoint> take() { return std::move(points_); }
  /// The curve so far; the latest point may still be replaced.
  [[nodiscard]] std::vector<MemoryPoint>& points() { return points_; }

 private:
  void set(Seconds at, Bytes base) {
    const Bytes losses = levels_.waiting_loss * std::max(0, alive_.back() - 1);
    set(at, ReplayedTask::Level{base + losses + kept_, kept_});
  }
  void set(Seconds at, const ReplayedTask::Level& level) {
    peak_ = larger(peak_, level.allocated);
    if (keep_curve_) add({at, level.allocated, level.activations});
  }
  [[nodiscard]] const ReplayedTask& task(std::ptrdiff_t index) const {
    return (*levels_.tasks)[static_cast<std::size_t>(index)];
  }
  void replayed(Seconds at, Instant instant);
  void count(int chunk, int more);
  void add(const MemoryPoint& point);

  StageLevels levels_;
  bool keep_curve_ = false;
  std::vector<int> alive_;  // micro-batches by chunk; empty: nothing is followed
  int all_alive_ = 0, most_alive_ = 0;
  std::ptrdiff_t task_ = -1, forward_ = -1;  // the stage's latest task and forward, as it began them
  Bytes kept_;                               // by the micro-batches in flight
  Bytes most_kept_, all_kept_, peak_;
  std::vector<MemoryPoint> points_;
};

}  // namespace hexaplan::costmodel
