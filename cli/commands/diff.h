#pragma once
#include <string>
#include <vector>

#include "cli/commands/question.h"
#include "cli/options.h"
#include "cli/render/terminal.h"
#include "costmodel/step/estimate.h"
#include "presets/import/changed_lines.h"
#include "presets/import/import_plan.h"

namespace hexaplan::cli {

/// A change of the launch files, with what it is predicted to bring.
struct Suggestion {
  std::string what;  // "layout dp16 tp2 …", "--recompute-granularity none"
  costmodel::Scenario scenario;
  costmodel::Estimate estimate;
  std::vector<presets::ChangedLine> lines;
};

struct DiffReport {
  presets::ImportedPlan plan;
  Question question;
  costmodel::Estimate estimate;
  std::vector<Suggestion> suggestions;  // single changes, fastest first, then the best plan of a search
};

/// What would be faster or safer than what launch files say. InputError when they cannot be read or lack
/// model or machines.
[[nodiscard]] DiffReport run_diff(const DiffOptions& options);

[[nodiscard]] std::string diff_text(const DiffReport& report);
[[nodiscard]] presets::JsonValue diff_json(const DiffReport& report);

}  // namespace hexaplan::cli
