#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/input_error.h"

namespace hexaplan::presets {

/// One line of a text, counted from 1, without what a terminal is told by escape sequences.
struct MachineLine {
  int number = 0;
  std::string text;
};
/// InputError beyond 10 MB.
[[nodiscard]] std::vector<MachineLine> machine_lines(std::string_view text, const std::string& file);
/// The words between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> machine_words(std::string_view line);
[[nodiscard]] InputError machine_error(const std::string& file, int line, std::string_view value,
                                       std::string expected);

}  // namespace hexaplan::presets
