#pragma once
#include <string>

#include "cli/commands/simulate.h"
#include "cli/render/terminal.h"

namespace hexaplan::cli {

[[nodiscard]] std::string simulate_text(const SimulateReport& report, const TextStyle& style);

}  // namespace hexaplan::cli
