#pragma once
#include <string>

#include "costmodel/spec/scenario.h"

namespace hexaplan::tests {

/// Model, layout and recipe of words that presets::to_command_words writes, on top of `base`; its cluster
/// gets as many GPUs as there are ranks.
[[nodiscard]] costmodel::Scenario scenario_from_words(const std::string& words, costmodel::Scenario base);

}  // namespace hexaplan::tests
