#pragma once
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Operations of one layer of class `kind` on one rank for one micro-batch: each step's forward, then what
/// answers it in backward; `Operation::pass` tells them apart. [docs/formulas.md#F2]
void append_layer_operations(const Scenario& scenario, const LocalDims& dims, LayerClass kind,
                             std::vector<Operation>& out);
/// The same of the table look-up, for a stage that holds the whole embedding.
void append_embedding_operations(const Scenario& scenario, const LocalDims& dims,
                                 std::vector<Operation>& out);
/// The same of final norm, output layer and loss, which are neither recomputed nor quantised.
void append_head_operations(const Scenario& scenario, const LocalDims& dims, std::vector<Operation>& out);

}  // namespace hexaplan::costmodel
