#pragma once
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "presets/json/input_error.h"

namespace hexaplan::cli {

/// Why a command gave no answer: what the shell, a person and a program are told.
struct Failure {
  ExitCode code = ExitCode::Internal;
  std::string message;            // one line
  presets::InputProblem problem;  // the line in parts, where it has them
};

/// Of the exception that is being handled. `words`: the command line without the program's name. A value that
/// was typed there is a mistake of the command line, whoever found it, and named by its option.
[[nodiscard]] Failure current_failure(const std::vector<std::string>& words);

/// Tells it on stderr and, where `words` ask for --json, as a document on stdout: docs/json.md.
void tell(const Failure& failure, const std::vector<std::string>& words);

}  // namespace hexaplan::cli
