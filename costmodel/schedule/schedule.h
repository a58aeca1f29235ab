#pragma once
#include <cstdint>
#include <string>
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
  friend bool operator==(const Task&, const Task&) = default;
};

/// What every stage runs, in order. The simulator prices it, the validator executes it.
struct Schedule {
  std::vector<std::vector<Task>> stages;
};

/// Order of tasks for GPipe, 1F1B and interleaved 1F1B (arXiv:2104.04473 §2.2; Megatron-LM
/// core/pipeline_parallel/schedules.py). Preconditions: stages, microbatches, chunks >= 1.
[[nodiscard]] Schedule make_schedule(ScheduleKind kind, int stages, int microbatches, int chunks);

/// Most activations alive at once on `stage`, in units of one chunk (layers/(pp·vpp)).  [docs/formulas.md#S1]
/// From the closed form of the order; a test holds it against `make_schedule`.
[[nodiscard]] double chunks_in_flight(ScheduleKind kind, int stages, int microbatches, int chunks, int stage);

/// The same in micro-batches (units of all the stage's layers), with what vocabulary parallelism adds: one
/// micro-batch per communication barrier, half again when interlaced (arXiv:2411.05288 §5.2, table 2).
[[nodiscard]] double microbatches_in_flight(const Layout& layout, std::int64_t microbatches, int stage);

}  // namespace hexaplan::costmodel
