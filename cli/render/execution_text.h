#pragma once
#include <string>

#include "cli/commands/execute.h"
#include "cli/render/terminal.h"

namespace hexaplan::cli {

/// Loss by step, time by phase, bytes by kind and collectives of a run, or why it was rejected.
[[nodiscard]] std::string execution_text(const ExecutionResult& result, const TextStyle& style);
/// What happened to the ranks, one line each where known; for stderr.
[[nodiscard]] std::string fault_text(const ExecutionResult& result, const std::string& report_file);
[[nodiscard]] std::string backends_text(const std::vector<validator::BackendState>& backends,
                                        const TextStyle& style);

}  // namespace hexaplan::cli
