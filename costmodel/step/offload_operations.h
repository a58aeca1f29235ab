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

/// Copies from the host of what a rank has of a layer's parameters, in bytes: before the forward pass gathers
/// them, and before the backward pass does. Nothing unless parameters are offloaded.  [docs/formulas.md#T11]
void append_parameter_loads(const Scenario& scenario, double forward, double backward,
                            std::vector<Operation>& out);

/// Gradients of an offloaded optimizer on their way to the host: in every micro-batch (Pass::BackwardWeight)
/// where each one's are reduced, else once (Step).  [docs/formulas.md#T11]
void append_gradient_copies(const Scenario& scenario, const StageParameters& parameters,
                            std::vector<Operation>& out);

/// The CPU's update of an offloaded optimizer (Pass::Step).  [docs/formulas.md#T11]
void append_cpu_update(const Scenario& scenario, const StageParameters& parameters,
                       std::vector<Operation>& out);
/// … and the updated parameters' way back (Pass::Step).
/// [docs/formulas.md#T11]
void append_host_update(const Scenario& scenario, const StageParameters& parameters,
                        std::vector<Operation>& out);

}  // namespace hexaplan::costmodel
