#pragma once
#include <optional>
#include <string>
#include <vector>

#include "planner/problem/plan.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::report {

/// A field of the question and the values that a sweep gives it.
struct SweptField {
  std::string name;
  std::vector<std::string> values;
};

/// What was found for one value of each field.
struct SweptCell {
  std::optional<planner::Plan> best;
  std::string nothing;  // why there is no plan
};

/// The best plan over one or two fields.
struct SweepReport {
  std::string program;  // "hexaplan 0.1.0 (abc)"
  std::string asked;    // "llama-3.1-8b on h100-80-sxm"
  std::vector<SweptField> fields;
  std::vector<SweptCell> cells;                     // the last field runs fastest
  std::optional<presets::ScenarioRequest> fastest;  // the plan with most tokens per second and GPU
  bool stopped = false;
};

/// A heat map for each figure of the best plans, and a table of them all with the reason where there is none.
/// The cells of a map that have a `<title>` are those of the report, in its order. Preconditions as below.
[[nodiscard]] std::string sweep_part(const SweepReport& report);

/// One page in one file: a heat map for each figure of the best plans, and a table of them all with the
/// reason where there is none. The plan with most tokens per second and GPU is inside, so that the page is a
/// scenario file, too. User text is escaped. Precondition: one or two fields, and a cell for each
/// combination.
[[nodiscard]] std::string sweep_page(const SweepReport& report);

}  // namespace hexaplan::report
