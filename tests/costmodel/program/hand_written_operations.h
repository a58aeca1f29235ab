#pragma once
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

// Operation lists written by hand, forward and backward: what the step program's are held against.

/// One layer of class `kind` on one rank for one micro-batch.
[[nodiscard]] std::vector<Operation> hand_written_layer(const Scenario& scenario, LayerClass kind);
/// The table look-up, for a stage that holds the whole embedding.
[[nodiscard]] std::vector<Operation> hand_written_embedding(const Scenario& scenario);
/// Final norm, output layer and loss, which are neither recomputed nor quantised.
[[nodiscard]] std::vector<Operation> hand_written_head(const Scenario& scenario);

}  // namespace hexaplan::costmodel::program
