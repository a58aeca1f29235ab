#pragma once
#include <string>
#include <vector>

#include "validator/measure/compare/validation.h"

namespace hexaplan::validator {

/// What a measured scenario's figures say, a sentence each: what makes its step longer or shorter than
/// predicted, the largest first; whether the host keeps the device waiting; messages far from their curves, a
/// rank that holds up the others, clocks that are held back, memory that nobody predicted. Empty where time
/// is not compared.
[[nodiscard]] std::vector<std::string> findings(const ValidatedScenario& scenario);

}  // namespace hexaplan::validator
