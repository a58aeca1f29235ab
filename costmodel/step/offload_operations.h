#pragma once
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/stage_parameters.h"

namespace hexaplan::costmodel {

/// Copies of what one layer of class `kind` keeps between forward and backward, to the host and back, where
/// activations are offloaded; one micro-batch.  [docs/formulas.md#T11]
void append_activation_copies(const Scenario& scenario, const LocalDims& dims, LayerClass kind,
                              std::vector<Operation>& out);

/// Copies of a layer's sharded parameters from the host, before they are gathered (Pass::Forward, and
/// BackwardData where they are gathered again), where parameters are offloaded.  [docs/formulas.md#T11]
void append_parameter_loads(const Scenario& scenario, const StageParameters& parameters, bool again,
                            std::vector<Operation>& out);

/// What an offloaded optimizer does: gradients to the host (Pass::BackwardWeight where every micro-batch's
/// are reduced, else Step), the update by the CPU and updated parameters back (Step).  [docs/formulas.md#T11]
void append_host_update(const Scenario& scenario, const StageParameters& parameters,
                        std::vector<Operation>& out);

}  // namespace hexaplan::costmodel
