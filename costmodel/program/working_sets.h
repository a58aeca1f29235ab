#pragma once
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

// The ledger's rows of one micro-batch, read off the compiled programs: what stays between forward and
// backward, and the highest point of either pass above it. Together they are the exact peak of a stage whose
// layers are alike and whose backward is one task.  [docs/formulas.md#M8]

/// True when tensor-parallel ranks cut the inputs of recomputed layers among them, and gather them before
/// such a layer runs again (ZeRO-R, arXiv:1910.02054 §6.1). Sequence parallelism has cut them already.
[[nodiscard]] constexpr bool cuts_checkpoints(const Scenario& scenario) {
  return scenario.layout.partition_activations && scenario.layout.tp > 1 && !scenario.layout.sp;
}

/// What a layer keeps between forward and backward, one row per tensor.
void append_kept_values(const Scenario& scenario, const LocalDims& dims, LayerClass kind, TensorLedger& out);
/// … and what a multi-token-prediction module keeps of the way to its layer; nothing of other classes.
void append_kept_before_layer(const Scenario& scenario, const LocalDims& dims, LayerClass kind,
                              bool recomputed, TensorLedger& out);
/// Working sets of one layer's passes. Backward has consumed some of what was kept when it needs most: a row
/// below zero.
void append_working_sets(const Scenario& scenario, const LocalDims& dims, LayerClass kind, bool recomputed,
                         TensorLedger& out);
/// What the embedding's forward takes beside kept values: its output, whole before ranks share the sequence.
void append_embedding_working_set(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// The buffer into which tensor-parallel ranks gather, where a profile has one.
void append_gather_buffers(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Output layer and loss.
void append_head_working_sets(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Gradient of the output layer's input, which waits for the micro-batch's backward.
void append_head_gradient(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);

}  // namespace hexaplan::costmodel::program
