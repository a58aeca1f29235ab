#pragma once
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

// The ledger's entries beside states and saved activations where every allocation is known
// (FrameworkProfile::explicit_step): the peaks of the executor's own order of allocations.
// [docs/formulas.md#M8]

/// Working sets of one layer's passes. Backward has consumed some of what was saved when it needs most: an
/// entry below zero.
void append_explicit_transients(const Scenario& scenario, const LocalDims& dims, LayerClass kind,
                                bool recomputed, TensorLedger& out);
/// Output layer and loss, with the targets of the whole step.
void append_explicit_loss(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Gradient of the output layer's input, which waits for the micro-batch's backward.
void append_explicit_head_gradient(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Tokens of the whole step on the first stage.
void append_explicit_ids(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Positions and the numbers that a step adds up, on every stage.
void append_explicit_numbers(const LocalDims& dims, TensorLedger& out);
/// Parameters gathered by ZeRO-3 and gradients before they are cut, of the largest layer or of the ends.
void append_explicit_parameter_buffers(const Scenario& scenario, const StagePlan& stage, TensorLedger& out);

}  // namespace hexaplan::costmodel
