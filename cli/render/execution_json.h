#pragma once
#include "cli/commands/execute.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// {"schema": "hexaplan/run/1", …}, docs/json.md.
[[nodiscard]] presets::JsonValue execution_json(const ExecutionQuestion& question,
                                                const validator::ExecutionReport& report);
/// {"schema": "hexaplan/run/1", "rejection": …}: nothing was executed.
[[nodiscard]] presets::JsonValue rejection_json(const ExecutionResult& result);
/// [{"name": …, "value": …, "unit": …}, {"name": …, "text": …}, …].
[[nodiscard]] presets::JsonValue facts_json(const std::vector<validator::DeviceFact>& facts);
/// {"schema": "hexaplan/backends/1", "backends": […]}.
[[nodiscard]] presets::JsonValue backends_json(const std::vector<validator::BackendState>& backends);

}  // namespace hexaplan::cli
