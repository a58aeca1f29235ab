#pragma once
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What one layer keeps between forward and backward of one micro-batch, `count` times: a table of tensors
/// written by hand, each with its size, the modules that drop it, and the profile's rule.
void append_hand_written_saved(const Scenario& scenario, const LocalDims& dims, LayerClass kind, double count,
                               TensorLedger& out);

}  // namespace hexaplan::costmodel
