#pragma once
#include "cli/exit_code.h"
#include "cli/options.h"

namespace hexaplan::cli {

/// Runs the command and writes its result to stdout or to the file of `-o`; notes go to stderr.
[[nodiscard]] ExitCode run(const Invocation& invocation);

}  // namespace hexaplan::cli
