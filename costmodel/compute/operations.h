#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/program/steps.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

// The price interpreter: numbers for the steps of a program.

/// Appends the operations of `steps` on one rank for one micro-batch.
void append_operations(const Scenario& scenario, const LocalDims& dims, LayerClass kind,
                       std::span<const Step> steps, std::vector<Operation>& out);

}  // namespace hexaplan::costmodel::program

namespace hexaplan::costmodel {

/// Name of the operation that casts a weight for a quantised product.
inline constexpr std::string_view kWeightCast = "quantize.weight";

/// Operations of one layer of class `kind` on one rank for one micro-batch, recomputed as far as the recipe
/// says: forward, backward; `Operation::pass` tells them apart. A multi-token-prediction module's are what
/// precedes its layer, the layer, output layer and loss. [docs/formulas.md#F2]
void append_layer_operations(const Scenario& scenario, const LocalDims& dims, LayerClass kind,
                             std::vector<Operation>& out);
/// The same of the table look-up, for a stage that holds the whole embedding.
void append_embedding_operations(const Scenario& scenario, const LocalDims& dims,
                                 std::vector<Operation>& out);
/// The same of final norm, output layer and loss, which are neither recomputed nor quantised.
void append_head_operations(const Scenario& scenario, const LocalDims& dims, std::vector<Operation>& out);

/// True of what prepares the pass that runs again, and is no part of a layer that does not: `recomputed`, and
/// not of the forward pass.
[[nodiscard]] constexpr bool only_recomputes(const Operation& op) {
  return op.recomputed && op.pass != Pass::Forward;
}

/// Scenarios that differ in their ZeRO stage alone have the same layer operations where this is equal.
[[nodiscard]] int operations_of_sharding(const Scenario& scenario);

}  // namespace hexaplan::costmodel
