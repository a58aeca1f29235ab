#include "presets/json/utf8.h"

namespace hexaplan::presets {
namespace {

/// Rows of table 3-7: first byte up to `last_lead`, bytes in all, range of the second byte.
struct Row {
  unsigned char last_lead, length, second_from, second_to;
};
constexpr Row kRows[] = {{0x7F, 1, 0, 0},       {0xC1, 0, 0, 0},       {0xDF, 2, 0x80, 0xBF},
                         {0xE0, 3, 0xA0, 0xBF}, {0xEC, 3, 0x80, 0xBF}, {0xED, 3, 0x80, 0x9F},
                         {0xEF, 3, 0x80, 0xBF}, {0xF0, 4, 0x90, 0xBF}, {0xF3, 4, 0x80, 0xBF},
                         {0xF4, 4, 0x80, 0x8F}, {0xFF, 0, 0, 0}};

const Row& row_of(unsigned char lead) {
  const Row* row = kRows;
  while (row->last_lead < lead) ++row;
  return *row;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Row& row = row_of(byte(0));
  if (row.length > text.size()) return 0;
  if (row.length > 1 && (byte(1) < row.second_from || byte(1) > row.second_to)) return 0;
  for (std::size_t i = 2; i < row.length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return row.length;
}

std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace hexaplan::presets
