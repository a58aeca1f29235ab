#pragma once
#include "costmodel/spec/framework_profile.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What the profile keeps of `tensor` in this scenario: its rule, or that of the last case that applies.
/// [docs/formulas.md#M2]
[[nodiscard]] SavedRule saved_rule(const Scenario& scenario, Saved tensor);

}  // namespace hexaplan::costmodel
