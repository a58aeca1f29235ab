#pragma once

namespace hexaplan::cli {

/// What the shell sees. 5 and 6 belong to commands that execute on devices.
enum class ExitCode {
  Ok = 0,             // also: fits
  Internal = 1,       // a mistake of ours
  Usage = 2,          // the command line cannot be understood
  DoesNotFit = 3,     // only with --require-fit
  UnusableInput = 4,  // a file, a preset or the environment cannot be used
  Interrupted = 130,  // Ctrl-C
};

}  // namespace hexaplan::cli
