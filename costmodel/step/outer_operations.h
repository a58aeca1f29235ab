#pragma once
#include <optional>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/stage_parameters.h"

namespace hexaplan::costmodel {

/// A step's share of the messages of outer steps: gradients between replicas that train apart, once in
/// Recipe::outer.every steps. Nothing without them, or with one replica.  [docs/formulas.md#C14]
void append_outer_messages(const Scenario& scenario, const StageParameters& parameters,
                           std::vector<Operation>& out);
/// … of what outer steps move in the GPU's memory, and over the link to the host where their states lie
/// there. [docs/formulas.md#T18]
void append_outer_update(const Scenario& scenario, const StageParameters& parameters,
                         std::vector<Operation>& out);

/// One outer step, by the stage whose takes longest.
struct OuterStep {
  Seconds messages, update;
  Bytes payload;  // of a rank's outer gradient, as it travels
  [[nodiscard]] Seconds total() const { return messages + update; }
};
/// Nothing where none are taken.
[[nodiscard]] std::optional<OuterStep> outer_step(const Scenario& scenario, const Calibration& calibration);

}  // namespace hexaplan::costmodel
