#pragma once
#include "validator/executor/interpreter/operation.h"

namespace hexaplan::validator {

/// What the executor has no runner for, of all kinds that a program can hold.
[[nodiscard]] bool is_executable(costmodel::program::Kind kind);

/// Runs the operations of one phase of the frame's program in order, each behind the allocation of what it
/// writes and before the release of what nobody reads any more.
void run_phase(Rank& rank, Frame& frame, costmodel::program::Phase phase, const Weights& weights,
               const MicroBatch& batch);

}  // namespace hexaplan::validator
