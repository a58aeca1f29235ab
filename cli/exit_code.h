#pragma once

namespace hexaplan::cli {

/// What the shell sees. 5 belongs to commands that compare predictions with what they execute.
enum class ExitCode {
  Ok = 0,             // also: fits
  Internal = 1,       // a mistake of ours, such as a number that `verify` finds to differ
  Usage = 2,          // the command line cannot be understood, or a value on it is wrong
  DoesNotFit = 3,     // `estimate` only with --require-fit; `search`: nothing found
  UnusableInput = 4,  // a file, what it names, or the environment cannot be used
  RankFailed = 6,     // a rank failed or hung; what was measured before is kept
  Interrupted = 130,  // Ctrl-C
  Terminated = 143,   // SIGTERM
};

}  // namespace hexaplan::cli
