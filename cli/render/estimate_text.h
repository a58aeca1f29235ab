#pragma once
#include <string>

#include "cli/commands/estimate.h"
#include "cli/render/terminal.h"

namespace hexaplan::cli {

/// The report a person reads. Every number carries its unit.
[[nodiscard]] std::string estimate_text(const EstimateReport& report, const TextStyle& style);

}  // namespace hexaplan::cli
