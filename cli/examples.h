#pragma once
#include <span>
#include <string_view>

namespace hexaplan::cli {

/// A line that can be typed, for the help of its command and the manual page.
struct Example {
  std::string_view command;  // "estimate"
  std::string_view line;     // without "hexaplan "
  std::string_view answers;  // the question that it answers
  bool in_short = false;     // one of the few in the help of the program itself and in the manual page
};
[[nodiscard]] std::span<const Example> examples();

}  // namespace hexaplan::cli
