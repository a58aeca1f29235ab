#pragma once
#include <string>

#include "cli/commands/measure.h"

namespace hexaplan::cli {

/// The logs and snapshots of a report as a table that `hexaplan accuracy` scores: a row per file. InputError
/// when it is not known what ran, when nothing in the files can be scored, or when the schema of rows has no
/// words for the scenario: each row is read back and must give the same step and the same memory within 3 %.
[[nodiscard]] std::string measured_rows(const MeasureReport& report);

}  // namespace hexaplan::cli
