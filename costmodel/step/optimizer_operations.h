#pragma once
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/stage_parameters.h"

namespace hexaplan::costmodel {

/// Bytes that an optimizer reads and writes per parameter, over those of AdamW with the same types; 1 for
/// AdamW. Of matrices in subspaces: what is moved of them by itself is not counted.  [docs/formulas.md#T7]
[[nodiscard]] double update_traffic_ratio(const Scenario& scenario, Optimizer optimizer);

/// Parameters that one rank updates, of those that it holds before ZeRO's cut.
[[nodiscard]] double updated_elements(const Scenario& scenario, const DenseAndExpert& trained);

/// The GPU's update of the local shard, as far as it is not offloaded, with the gradient norm: memory-bound
/// kernels, for Muon the matrix products of its Newton-Schulz iterations and the gathering of sharded
/// matrices that they need whole, for GaLore and APOLLO the projections and the choice of their subspaces,
/// for Shampoo and SOAP the second moments of rows and columns, and what is made of them.
/// [docs/formulas.md#T7]
void append_update(const Scenario& scenario, const StageParameters& parameters, std::vector<Operation>& out);

}  // namespace hexaplan::costmodel
