#pragma once
#include <string>

#include "cli/commands/validate.h"

namespace hexaplan::cli {

/// A page that needs nothing beside itself: tables, plots as inline SVG, light and dark as the reader's
/// system has it, no scripts.
[[nodiscard]] std::string validation_html(const ValidateReport& report);

}  // namespace hexaplan::cli
