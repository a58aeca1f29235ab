#pragma once
#include <array>

#include "costmodel/spec/framework_profile.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What the profile keeps of each tensor in this scenario, by Saved: its rule, or that of the last case that
/// applies.  [docs/formulas.md#M2]
[[nodiscard]] std::array<SavedRule, kSavedCount> saved_rules(const Scenario& scenario);
/// Traffic and kernels of a memory-bound step in this scenario, by the same.  [docs/formulas.md#T3]
[[nodiscard]] const ElementwiseRule& elementwise_rule(const Scenario& scenario, Elementwise step);

/// torch.compile or XLA compiles the layers: as the recipe says or, where it is silent, as the profile does.
[[nodiscard]] bool compiles_layers(const Scenario& scenario);

}  // namespace hexaplan::costmodel
