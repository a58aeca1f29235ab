#pragma once
#include "cli/options/command_row.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// The command with options given as an object, {"--seq": 8192, "--tp": [1, 2], "--explain": true}, by
/// callers that have values and no command line. Numbers and truth values stand for their text, a list for
/// every value of an option that may be given again and for "1,2" of one that may not; null: not given.
/// UsageError for an option that the command has not, with the nearest one, for a value that has no text, and
/// for a switch that is neither true nor false.
[[nodiscard]] Command command_of_values(CommandRow row, const presets::JsonValue& options);

}  // namespace hexaplan::cli
