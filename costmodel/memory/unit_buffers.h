#pragma once
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

// The ledger's entries beside states and those of the step program (program/working_sets.h) where parameters
// are flat buffers of units (FrameworkProfile::replays_parameters).  [docs/formulas.md#M8]

/// Numbers that a step adds up, on every rank: two losses of the rank; squares and both losses of all ranks.
inline constexpr double kStepSumBytes = 5 * 4;  // fp32

/// Targets of the whole step on the last stage.
void append_step_targets(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Tokens of the whole step on the first stage.
void append_step_ids(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Positions and the numbers that a step adds up, on every stage.
void append_step_numbers(const LocalDims& dims, TensorLedger& out);
/// Parameters gathered by ZeRO-3 and gradients before they are cut, of the largest layer, the embedding or
/// the head.
void append_unit_buffers(const Scenario& scenario, const StagePlan& stage, TensorLedger& out);

}  // namespace hexaplan::costmodel
