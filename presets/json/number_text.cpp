#include "presets/json/number_text.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace hexaplan::presets {
namespace {

char* copy_word(std::string_view word, char* at) {
  return std::copy(word.begin(), word.end(), at);
}

}  // namespace

char* write_number(double number, char* at) {
  if (!std::isfinite(number)) return copy_word("null", at);
  char* const end = fmt::format_to(at, FMT_COMPILE("{}"), number);
  const bool is_whole = std::none_of(at, end, [](char c) { return c == '.' || c == 'e'; });
  return is_whole ? copy_word(".0", end) : end;
}

}  // namespace hexaplan::presets
