#include "charts/table_text.h"

#include <string_view>

namespace hexaplan::charts {
namespace {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{text};
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string tsv_cell(std::string_view text) {
  std::string plain{text};
  for (char& c : plain) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return plain;
}

std::string markdown_cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string markdown_row(const std::vector<std::string>& row) {
  std::string line = "|";
  for (const std::string& cell : row) line += " " + markdown_cell(cell) + " |";
  return line + "\n";
}

}  // namespace

std::string csv_table(const Cells& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text += (c == 0 ? "" : ",") + csv_cell(row[c]);
    text += "\r\n";
  }
  return text;
}

std::string tsv_table(const Cells& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text += (c == 0 ? "" : "\t") + tsv_cell(row[c]);
    text += '\n';
  }
  return text;
}

std::string markdown_table(const Cells& rows, const std::vector<bool>& right) {
  if (rows.empty()) return {};
  std::string text = markdown_row(rows.front()) + "|";
  for (std::size_t c = 0; c < rows.front().size(); ++c) text += right[c] ? " ---: |" : " --- |";
  text += "\n";
  for (std::size_t r = 1; r < rows.size(); ++r) text += markdown_row(rows[r]);
  return text;
}

std::string markdown_table(const Cells& rows, std::size_t left) {
  std::vector<bool> right(rows.empty() ? 0 : rows.front().size());
  for (std::size_t c = left; c < right.size(); ++c) right[c] = true;
  return markdown_table(rows, right);
}

}  // namespace hexaplan::charts
