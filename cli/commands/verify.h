#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/render/coverage_text.h"
#include "costmodel/spec/verdict.h"
#include "validator/executor/verify/verify.h"

namespace hexaplan::cli {

/// Everything `hexaplan verify` has to say.
struct VerifyReport {
  int seed = 1;
  std::optional<costmodel::Rejected> rejected;  // rules or executor do not accept the scenario: nothing ran
  std::vector<std::string> changes;             // what was shrunk of the scenario asked for
  std::vector<validator::Verification> layouts;
  std::vector<validator::Verification> recorded;  // steps of the record, beside random layouts
  std::vector<CoverageRow> coverage;              // instead of layouts, where it was asked for

  [[nodiscard]] bool equal() const;
};

/// Executes the scenario, shrunk, in Hexaplan's own framework profile, or random layouts and as many
/// steps of the record. InputError when
/// something cannot be used. With `coverage` nothing is executed. `progress`: a line on stderr that says how
/// far it is.
[[nodiscard]] VerifyReport run_verify(const VerifyOptions& options, bool progress);

}  // namespace hexaplan::cli
