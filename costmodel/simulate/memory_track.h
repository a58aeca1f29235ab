#pragma once
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "costmodel/memory/stage_memory.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

/// Live bytes of a stage: those of an instant, and what micro-batches in flight keep.
struct StageLevels {
  std::array<Bytes, kInstants> base{};  // nothing in flight
  Bytes between;                        // inside the step while nothing runs
  std::vector<Bytes> kept;              // by one micro-batch on each chunk
  Bytes most_kept;                      // where activations are offloaded
  Bytes always_kept;                    // beside those in flight (vocabulary parallelism)
  Bytes outside;                        // StageTimeline::outside
  [[nodiscard]] Bytes at(Instant instant) const { return base[index_of(instant)]; }
};
/// From the ledger of `stage`, whose chunks are `chunks`; `in_flight` as the closed form has it.
[[nodiscard]] StageLevels stage_levels(const MemoryModel& memory, const StagePlan& stage, int index,
                                       const StagePlan* chunks, int chunk_count, double in_flight,
                                       double always_in_flight);

/// Memory of one stage while its order runs.  [docs/formulas.md#S5]
class MemoryTrack {
 public:
  /// `points`: about so many of the curve are kept; 0 none.
  MemoryTrack(StageLevels levels, std::size_t points);

  /// From `at` on memory is as in `instant`.
  void enter(Seconds at, Instant instant) { set(at, levels_.at(instant)); }
  /// … as between tasks.
  void leave(Seconds at) { set(at, levels_.between); }
  /// A micro-batch begins to be kept on a chunk, and is let go. Takes effect with the next enter or leave.
  void keep(int chunk) { count(chunk, 1); }
  void release(int chunk) { count(chunk, -1); }

  [[nodiscard]] Bytes peak() const { return peak_; }
  [[nodiscard]] Bytes outside() const { return levels_.outside; }
  /// Most micro-batches kept, in units of all chunks.
  [[nodiscard]] double most_in_flight() const;
  [[nodiscard]] std::vector<MemoryPoint> take() { return std::move(points_); }

 private:
  void set(Seconds at, Bytes base) {
    const Bytes allocated = base + kept_;
    peak_ = larger(peak_, allocated);
    if (keep_curve_) add({at, allocated, kept_});
  }
  void count(int chunk, int more);
  void add(const MemoryPoint& point);

  StageLevels levels_;
  bool keep_curve_;
  std::vector<int> alive_;
  int all_alive_ = 0, most_alive_ = 0;
  Bytes kept_;  // by the micro-batches in flight
  Bytes most_kept_, all_kept_, peak_;
  std::vector<MemoryPoint> points_;
};

}  // namespace hexaplan::costmodel
