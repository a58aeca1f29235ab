#pragma once
#include <vector>

#include "cli/commands/estimate.h"

namespace hexaplan::cli {

/// Single changes of recipe or layout, on the same cluster and global batch, that make `scenario` fit: the
/// quickest `most` of them. Empty when none does.
[[nodiscard]] std::vector<FittingChange> fitting_changes(const costmodel::Scenario& scenario,
                                                         const costmodel::Calibration& calibration,
                                                         std::size_t most);

}  // namespace hexaplan::cli
