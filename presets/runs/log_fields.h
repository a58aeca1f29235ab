#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "presets/runs/run_log.h"

namespace hexaplan::presets {

// Words of the frameworks' logs, as one table: a label, and what the number behind it is.

/// What a number in a log is.
enum class LogQuantity : std::uint8_t {
  Iteration,
  IterationBehindSlash,  // "0/17"
  Seconds,
  TokensPerSecondPerGpu,
  SamplesPerSecond,
  StepsPerSecond,
  WholeRunSeconds,
  TflopsPerGpu,
  GlobalBatch,  // sequences
  Sequence,     // tokens
  WorldSize,
  MaxAllocated,       // bytes
  MaxReserved,        // bytes
  MaxReservedOfStep,  // … where the label says so in lines of steps alone
};

/// A label of some framework's lines. `scale`: what the number is multiplied by to be in seconds, bytes, ….
struct LogField {
  std::string_view label;
  LogQuantity quantity;
  double scale = 1;
};
/// Every known label; where several of one quantity stand in a line, the first row counts.
[[nodiscard]] std::span<const LogField> log_fields();

/// The number behind the first whole `label` in `text`: blanks, ':', '=' and quotes may stand between them;
/// digits may be grouped by commas; K, M, G, B and T of thousands and KiB, MB, GiB … (all binary, as
/// PyTorch's tools write them) are applied. Nothing when there is no such label, or no finite number behind
/// it.
[[nodiscard]] std::optional<double> number_behind(std::string_view text, std::string_view label);
/// The number behind the next '/' of that: 17 of "stop] 0/17".
[[nodiscard]] std::optional<double> number_behind_slash(std::string_view text, std::string_view label);

/// Which framework writes lines with these words; nothing for a line that no framework's step begins.
[[nodiscard]] std::optional<LogFormat> format_of_step_line(std::string_view line);

}  // namespace hexaplan::presets
