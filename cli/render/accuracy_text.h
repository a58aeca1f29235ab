#pragma once
#include <string>

#include "cli/commands/accuracy.h"
#include "cli/render/terminal.h"

namespace hexaplan::cli {

/// Tables per source, the `worst` rows of every figure, why rows were skipped; every row when `rows`.
[[nodiscard]] std::string accuracy_text(const AccuracyResult& result, bool rows, int worst,
                                        const TextStyle& style);

}  // namespace hexaplan::cli
