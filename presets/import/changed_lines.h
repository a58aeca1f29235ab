#pragma once
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/import/import_plan.h"

namespace hexaplan::presets {

/// One line of a launch file that has to change, in the file's own dialect.
struct ChangedLine {
  std::string file;  // empty: a line to add
  int line = 0;
  std::string before, after;  // "--recompute-granularity full"; empty: nothing stood there, or the line goes
};

/// What to change in the files of `plan`, which say `now`, so that they say `then`: settings that export
/// would write otherwise, in the order of exports. Both scenarios are on the same machines.
[[nodiscard]] std::vector<ChangedLine> lines_to_change(const ImportedPlan& plan,
                                                       const costmodel::Scenario& now,
                                                       const costmodel::Scenario& then);

}  // namespace hexaplan::presets
