#pragma once
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Axes of the layout, and recurrent layers, that the framework does not have at all, as words: "pp2". An
/// estimate prices them as if it had; whoever shows it must say so. Empty under Hexaplan's own executor,
/// whose rules refuse what it does not run.
[[nodiscard]] std::vector<std::string> beyond_abilities(const Scenario& scenario);

}  // namespace hexaplan::costmodel
