#pragma once
#include <string>
#include <string_view>

namespace hexaplan::presets {

/// JSON pointers (RFC 6901) to a member or element of the value at `parent`.
[[nodiscard]] inline std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string result{parent};
  result += '/';
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}
[[nodiscard]] inline std::string pointer_to(std::string_view parent, std::size_t index) {
  return std::string{parent} + '/' + std::to_string(index);
}

}  // namespace hexaplan::presets
