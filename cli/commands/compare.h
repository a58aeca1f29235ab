#pragma once
#include <string>
#include <vector>

#include "cli/commands/estimate.h"

namespace hexaplan::cli {

/// One of the scenarios that are compared.
struct Side {
  std::string name;  // as given: a file or a layout
  EstimateReport report;
};

struct CompareReport {
  std::vector<Side> sides;  // two or more; the first is what the others are held against
};

/// The questions of the sides, in their order. Layouts of one question that leaves the global batch open get
/// the same one.
[[nodiscard]] std::vector<EstimateOptions> questions_of_sides(const ScenarioOptions& question,
                                                              const std::vector<std::string>& sides);

/// Each side is a scenario file, with the flags on top, or a layout of the question that the flags ask.
/// InputError when something cannot be used.
[[nodiscard]] CompareReport run_compare(const CompareOptions& options);

}  // namespace hexaplan::cli
