#pragma once
#include <string>
#include <vector>

namespace hexaplan::charts {

/// Rows of cells, the first row being the heads.
using Cells = std::vector<std::vector<std::string>>;

/// RFC 4180: cells with commas, quotes or line ends in quotes, lines end in CRLF.
[[nodiscard]] std::string csv_table(const Cells& rows);
/// What spreadsheets paste: tabs between cells; tabs and line ends inside become blanks.
[[nodiscard]] std::string tsv_table(const Cells& rows);
/// A GitHub-flavoured Markdown table; columns after the first `left` ones flush right.
[[nodiscard]] std::string markdown_table(const Cells& rows, std::size_t left = 1);
/// The same; `right[column]`: whether it is flush right. Precondition: one per column.
[[nodiscard]] std::string markdown_table(const Cells& rows, const std::vector<bool>& right);

}  // namespace hexaplan::charts
