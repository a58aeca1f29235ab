#pragma once
#include <cstdint>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/stage_parameters.h"

namespace hexaplan::costmodel {

/// The pass with which whole gradients are reduced: every micro-batch's, or once in a step.
[[nodiscard]] Pass pass_of_reduction(const Scenario& scenario);

/// In which gradients are reduced.
[[nodiscard]] double bytes_per_reduced_gradient(const Scenario& scenario);

/// Reduction of a stage's gradients over its data-parallel replicas, experts' over theirs; as often per step
/// as the ZeRO stage asks for.  [docs/formulas.md#C8]  Nothing when gathers_layers or when only adapters
/// train.
void append_gradient_reduction(const Scenario& scenario, const StageParameters& parameters,
                               std::vector<Operation>& out);
/// DualPipe: the two stages that hold the same layers add up what their micro-batches gave (each rank what
/// its shard has) once per step, behind everything else. Nothing for other schedules.  [docs/formulas.md#C8]
void append_mirror_reduction(const Scenario& scenario, const StageParameters& parameters,
                             std::vector<Operation>& out);
/// ZeRO-1/2: every rank collects the parameters that the others updated, all at once or one broadcast per
/// owner. [docs/formulas.md#C8]
void append_parameter_gather(const Scenario& scenario, const StageParameters& parameters,
                             std::vector<Operation>& out);
/// What stays gathered between steps, after the update (deepspeedai/DeepSpeed runtime/zero/stage3.py
/// _post_step).  [docs/formulas.md#C9]
void append_persistent_gather(const Scenario& scenario, const StageParameters& parameters,
                              std::vector<Operation>& out);
/// What is gathered and reduced together.
enum class ShardedUnit : std::uint8_t { Layer, End, Head };
/// Micro-batches differ where gradients wait for the last one.
enum class MicrobatchOf : std::uint8_t { BeforeLast, Last };
/// ZeRO-3 / FSDP, one unit and one micro-batch: gather before forward (Pass::Forward), again before backward
/// (BackwardData) unless it has stayed gathered, gradient scattered after it (BackwardWeight), copies in and
/// out of the buffers (Step).  [docs/formulas.md#C9]
void append_layer_sharding(const Scenario& scenario, ShardedUnit unit, MicrobatchOf which,
                           const StageParameters& parameters, std::vector<Operation>& out);

}  // namespace hexaplan::costmodel
