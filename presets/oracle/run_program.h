#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/units/quantity.h"

namespace hexaplan::presets {

struct ProgramRequest {
  std::vector<std::string> words;  // the program, looked for in PATH, and its arguments
  std::string input;               // its stdin
  costmodel::Seconds limit;
  std::stop_token stop;
  /// Called with every whole line that it writes to stderr; may be empty.
  std::function<void(std::string_view)> on_error_line;
};

enum class ProgramEnd : std::uint8_t {
  Exited,      // `code` is its exit code
  Killed,      // `code` is the signal
  NotStarted,  // `code` is errno
  TimedOut,
  Flooded,  // it wrote more than kMostOutput
  Stopped,
};
inline constexpr std::size_t kMostOutput = 256'000'000;  // bytes

struct ProgramRun {
  ProgramEnd end = ProgramEnd::Exited;
  int code = 0;
  std::string out;  // its stdout
};

/// Runs a program until it ends. Once `limit` has passed, `stop` is requested or it wrote too much, it is
/// killed, and every process that it started in its group. It receives no signals from the terminal.
[[nodiscard]] ProgramRun run_program(const ProgramRequest& request);

}  // namespace hexaplan::presets
