#pragma once
#include "cli/options.h"
#include "presets/import/import_plan.h"

namespace hexaplan::cli {

/// The launch files as a scenario, with the flags on top. InputError when they cannot be read.
[[nodiscard]] presets::ImportedPlan run_import(const ImportOptions& options);

/// What became of every setting, a line each: "run.sh:12: understood: --seq-length 4096".
[[nodiscard]] std::string import_report(const presets::ImportedPlan& plan);
[[nodiscard]] presets::JsonValue import_json(const presets::ImportedPlan& plan);

}  // namespace hexaplan::cli
