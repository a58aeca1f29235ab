#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "costmodel/spec/layout.h"

namespace hexaplan::costmodel {

enum class TaskPass : std::uint8_t { Forward, BackwardInput, BackwardWeight, Backward /* both */ };

/// One micro-batch crossing one model chunk of one stage in one direction.
struct Task {
  int stage = 0;
  int microbatch = 0;
  int chunk = 0;
  TaskPass pass = TaskPass::Forward;
  /// Runs in one go with the task that follows it, once both can start: the layers of this forward and that
  /// backward alternate, so that each one's exchanges hide behind the other's kernels (DualPipe). An executor
  /// may run them one after the other.
  bool with_next = false;
  friend bool operator==(const Task&, const Task&) = default;
};

/// What every stage runs, in order. The simulator prices it, the validator executes it. Every micro-batch
/// crosses every chunk it meets (`microbatches_of_chunk`) in one Forward and one Backward, or one
/// BackwardInput and, later, one BackwardWeight. Which part of the model a stage's chunk is and where its
/// output goes: costmodel/spec/chunk_order.h.
struct Schedule {
  ScheduleKind kind = ScheduleKind::OneFOneB;
  int microbatches = 0;
  int chunks = 1;  // per stage
  std::vector<std::vector<Task>> stages;
};

/// Order of tasks.  [docs/formulas.md#S1]  `chunks` counts per stage; kinds that fix it (`chunks_per_stage`)
/// ignore it. Preconditions: stages, microbatches, chunks >= 1; DualPipe: an even number of stages.
/// Never deadlocks, also with fewer micro-batches than stages or a remainder.
[[nodiscard]] Schedule make_schedule(ScheduleKind kind, int stages, int microbatches, int chunks);

/// The same. The last few are kept per thread: a search asks for one order thousands of times.
[[nodiscard]] std::shared_ptr<const Schedule> known_schedule(ScheduleKind kind, int stages, int microbatches,
                                                             int chunks);

/// True when gradients of inputs and of weights are tasks of their own, so that a micro-batch's activations
/// stay until the latter.
[[nodiscard]] bool splits_backward(ScheduleKind kind);

/// True when forward and backward passes run in pairs, each one's collectives beside the other's kernels
/// (Task::with_next).
[[nodiscard]] constexpr bool runs_in_pairs(ScheduleKind kind) {
  return kind == ScheduleKind::DualPipe || kind == ScheduleKind::DualPipeV;
}

/// True when stages begin their next step as soon as they have finished this one, so that waiting at the
/// pipeline's ends falls away: the optimizer step is validated after the fact instead of waiting for the
/// gradient norm (arXiv:2401.10241 §4).
[[nodiscard]] bool drifts(ScheduleKind kind);

/// True when the time of equal stages follows from p, m and v alone, without running the order: GPipe, 1F1B,
/// and interleaving where groups of p micro-batches come out even.  [docs/formulas.md#S3]
[[nodiscard]] bool has_closed_form(const Layout& layout, int microbatches);

/// Most activations alive at once on `stage`, in units of one chunk.  [docs/formulas.md#S1]
/// From the closed form of the order; a test holds it against `make_schedule`.
[[nodiscard]] double chunks_in_flight(ScheduleKind kind, int stages, int microbatches, int chunks, int stage);

/// The same in micro-batches (units of all the stage's layers), with what vocabulary parallelism adds: one
/// micro-batch per communication barrier, half again when interlaced (arXiv:2411.05288 §5.2, table 2).
[[nodiscard]] double microbatches_in_flight(const Layout& layout, std::int64_t microbatches, int stage);

}  // namespace hexaplan::costmodel
