#pragma once
// Included before every source: Emscripten's libc++ reads integers only. The callers allow no leading blanks,
// signs or words (costmodel/units/parse_number.h), which strtod would take.
#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

namespace std {

inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const bool number = first != last && (*first == '-' || *first == '.' || (*first >= '0' && *first <= '9'));
  const string text{first, last};
  char* end = nullptr;
  const double read = number ? strtod(text.c_str(), &end) : 0;
  if (!number || end == text.c_str() || text.find_first_of("xX") != string::npos)
    return {first, errc::invalid_argument};
  value = read;
  return {first + (end - text.c_str()), errc{}};
}

}  // namespace std
