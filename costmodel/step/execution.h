#pragma once
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

// How the step of a scenario is run: what the recipe asks for, else what its framework does by itself.

/// Share of every tensor-parallel collective that may hide behind the product it feeds or drains.
[[nodiscard]] double tensor_overlap(const Scenario& scenario);
/// The collectives of a column-parallel layer's backward run beside its products (sequence parallelism).
[[nodiscard]] bool tensor_backward_overlap(const Scenario& scenario);
/// Share of the messages between stages that hides while the pipeline is full.
[[nodiscard]] double pipeline_overlap(const Scenario& scenario);
/// Parameters are gathered beside the forward.
[[nodiscard]] bool overlaps_parameter_gather(const Scenario& scenario);
/// Share of the exchanges of tokens between experts that hides.
[[nodiscard]] double expert_overlap(const Scenario& scenario);
/// Tokens travel once to each rank, and over the network once to each node, however many of their experts are
/// there.
[[nodiscard]] bool merges_expert_copies(const Scenario& scenario);
/// Share of the host's time per layer and operation that graphs and compilers leave.
[[nodiscard]] double host_share(const Scenario& scenario);

}  // namespace hexaplan::costmodel
