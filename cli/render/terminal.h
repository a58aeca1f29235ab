#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace hexaplan::cli {

/// What the place we write to can show.
struct TextStyle {
  bool colour = false;
  bool unicode = false;
  int columns = 100;  // cells of a line
  int table = 0;      // … that a table may have; 0: no limit, it goes into a file or to a program

  [[nodiscard]] std::string bold(std::string_view text) const;
  [[nodiscard]] std::string good(std::string_view text) const;  // green
  [[nodiscard]] std::string warn(std::string_view text) const;  // amber
  [[nodiscard]] std::string bad(std::string_view text) const;   // red
  [[nodiscard]] std::string dim(std::string_view text) const;
  /// Black on one of the 256 terminal colours.
  [[nodiscard]] std::string on_colour(int colour, std::string_view text) const;
  /// A bar of `share` (0 to 1, cut there) of `width` cells; the rest is blank or dotted.
  [[nodiscard]] std::string bar(double share, int width) const;
  /// "–" or "-", "·" or "|".
  [[nodiscard]] std::string_view dash() const { return unicode ? "–" : "-"; }
  [[nodiscard]] std::string_view dot() const { return unicode ? "·" : "|"; }
};

/// Colour: as asked; auto = stdout is a terminal and NO_COLOR is not set (https://no-color.org). Unicode: the
/// locale's environment says UTF-8. Width: the terminal's, COLUMNS, or 100.
[[nodiscard]] TextStyle detect_style(Colour colour, bool to_file);

/// Rows of cells in columns; columns after the first `left` ones are set flush right.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows,
                                       std::size_t left = 1);

/// What of a table may be left out where a terminal is too narrow for it.
struct TableShape {
  std::size_t left = 1;
  std::vector<std::string_view> expendable =
      {};  // heads of columns, the first to go first; then the last ones
};
/// The same, at most style.table wide, with a line that names the columns that were left out. Rows have the
/// heads first. The first column and the `left` ones stay until all others are gone.
[[nodiscard]] std::string fitted_table(std::vector<std::vector<std::string>> rows, const TextStyle& style,
                                       const TableShape& shape = {});

/// Cells a terminal needs for `text`: UTF-8 continuation bytes and colour sequences need none.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace hexaplan::cli
