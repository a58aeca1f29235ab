#include "cli/render/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "costmodel/units/parse_number.h"

namespace hexaplan::cli {
namespace {

std::string paint(bool colour, std::string_view code, std::string_view text) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string{text};
}

bool set_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// The first of the three that is set decides (POSIX, locale environment variables).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!set_in_environment(name)) continue;
    std::string value = std::getenv(name);
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

/// Cells of a line of the terminal on stdout, or what COLUMNS says.
int line_width(bool terminal) {
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  std::string_view columns = set_in_environment("COLUMNS") ? std::getenv("COLUMNS") : "";
  const int width = costmodel::take_number<int>(columns).value_or(0);
  return width > 0 ? width : 100;
}

}  // namespace

std::string TextStyle::bold(std::string_view text) const {
  return paint(colour, "1", text);
}
std::string TextStyle::good(std::string_view text) const {
  return paint(colour, "1;32", text);
}
std::string TextStyle::warn(std::string_view text) const {
  return paint(colour, "1;33", text);
}
std::string TextStyle::bad(std::string_view text) const {
  return paint(colour, "1;31", text);
}
std::string TextStyle::dim(std::string_view text) const {
  return paint(colour, "2", text);
}

std::string TextStyle::on_colour(int number, std::string_view text) const {
  return paint(colour, fmt::format("30;48;5;{}", number), text);
}

std::string TextStyle::bar(double share, int width) const {
  constexpr const char* partial_blocks[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width * 8));
  std::string cells;
  if (!unicode) {
    const int full = (eighths + 4) / 8;
    return std::string(static_cast<std::size_t>(full), '#') +
           std::string(static_cast<std::size_t>(width - full), '.');
  }
  int used = eighths / 8;
  for (int i = 0; i < used; ++i) cells += "█";
  if (eighths % 8 != 0) cells += partial_blocks[eighths % 8], ++used;
  for (; used < width; ++used) cells += "·";
  return cells;
}

TextStyle detect_style(Colour colour, bool to_file) {
  const bool terminal = !to_file && isatty(STDOUT_FILENO) != 0;
  const bool wanted =
      colour == Colour::Always || (colour == Colour::Auto && terminal && !set_in_environment("NO_COLOR"));
  const int columns = std::clamp(line_width(terminal), 40, 400);
  return {.colour = wanted, .unicode = locale_is_utf8(), .columns = columns, .table = terminal ? columns : 0};
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\x1b') escape = true;
    if (!escape && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++width;
    if (escape && c == 'm') escape = false;
  }
  return width;
}

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::size_t table_width(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_width(row[c]));
  }
  std::size_t width = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (const std::size_t column : widths) width += column;
  return width;
}

/// The column to do without next; nothing where what is left has to stay.
std::optional<std::size_t> next_to_go(const std::vector<std::string>& heads, const TableShape& shape) {
  for (const std::string_view head : shape.expendable) {
    const auto found = std::find(heads.begin(), heads.end(), head);
    if (found != heads.end()) return static_cast<std::size_t>(found - heads.begin());
  }
  if (heads.size() <= std::max<std::size_t>(shape.left, 1) + 1) return std::nullopt;
  return heads.size() - 1;
}

}  // namespace

std::string fitted_table(Rows rows, const TextStyle& style, const TableShape& shape) {
  std::vector<std::string> gone;
  std::size_t left = shape.left;
  while (style.table > 0 && !rows.empty() && table_width(rows) > static_cast<std::size_t>(style.table)) {
    const std::optional<std::size_t> column = next_to_go(rows.front(), {left, shape.expendable});
    if (!column) break;
    gone.push_back(rows.front()[*column]);
    if (*column < left) --left;
    for (auto& row : rows) {
      if (*column < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(*column));
    }
  }
  std::string text = format_table(rows, left);
  if (!gone.empty())
    text += fmt::format("({} cells are too narrow for: {}; a file or a pipe gets all columns)\n", style.table,
                        fmt::join(gone, ", "));
  return text;
}

std::string format_table(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - display_width(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (c < left ? row[c] + pad : pad + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace hexaplan::cli
