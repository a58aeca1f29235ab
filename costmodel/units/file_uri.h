#pragma once
#include <string>
#include <string_view>

namespace hexaplan::costmodel {

/// A file as an URI with one option ("immutable=1"): sqlite.org/uri.html.
[[nodiscard]] inline std::string file_uri(std::string_view path, std::string_view option) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const bool special = c == '?' || c == '#' || c == '%';
    if (!special) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri += '%';
    uri += kHex[byte / 16];
    uri += kHex[byte % 16];
  }
  uri += '?';
  uri += option;
  return uri;
}

}  // namespace hexaplan::costmodel
