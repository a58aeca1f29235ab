#pragma once
#include <string>

#include "cli/render/terminal.h"
#include "costmodel/simulate/simulation.h"

namespace hexaplan::cli {

/// The step as letters, a line per stage, as wide as the terminal; then its beginning at a scale at which
/// micro-batch numbers can be read, where they cannot in the whole. Ends with a legend.
/// Precondition: the simulation kept its spans.
[[nodiscard]] std::string gantt_text(const costmodel::Simulation& simulation, const TextStyle& style);

}  // namespace hexaplan::cli
