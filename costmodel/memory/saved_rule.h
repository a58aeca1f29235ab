#pragma once
#include "costmodel/spec/framework_profile.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What the profile keeps of `tensor` in this scenario: its rule, or that of the last case that applies.
/// [docs/formulas.md#M2]
[[nodiscard]] SavedRule saved_rule(const Scenario& scenario, Saved tensor);
/// Traffic and kernels of a memory-bound step in this scenario, by the same.  [docs/formulas.md#T3]
[[nodiscard]] const ElementwiseRule& elementwise_rule(const Scenario& scenario, Elementwise step);

}  // namespace hexaplan::costmodel
