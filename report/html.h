#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::report {

/// A piece of a page that is markup already.
struct Markup {
  std::string html;
};

/// What a table holds: text, which is escaped, or markup.
class Cell {
 public:
  Cell(std::string_view text);
  Cell(const std::string& text) : Cell{std::string_view{text}} {}
  Cell(const char* text) : Cell{std::string_view{text}} {}
  Cell(Markup markup) : html_{std::move(markup.html)} {}
  [[nodiscard]] const std::string& html() const { return html_; }

 private:
  std::string html_;
};

/// Columns after the first `left` ones flush right.
struct Table {
  std::vector<std::string> heads;
  std::vector<std::vector<Cell>> rows;
  std::size_t left = 1;
};
[[nodiscard]] std::string to_html(const Table& table);

/// <span class="…">text</span>, the text escaped. `look`: good, risky, bad, soft, or more of them.
[[nodiscard]] Markup marked(std::string_view text, std::string_view look);
/// A picture (SVG) in a box that scrolls, by keyboard too, where the screen is narrower. `large`: never
/// shrunk below what its letters need.
[[nodiscard]] std::string picture(const std::string& svg, bool large = false);
/// <details> that unfold `content` under `summary`, which is markup.
[[nodiscard]] std::string unfolding(const Markup& summary, const std::string& content, bool open = false);
/// <section id="…"> with a heading.
[[nodiscard]] std::string section(std::string_view id, std::string_view heading, const std::string& content);

/// A whole page around `body`: nothing from elsewhere (a content security policy forbids it), no scripts
/// that run, light and dark as the reader's system has it, for screens of any width and for print.
[[nodiscard]] std::string page(std::string_view title, const std::string& body);
/// The colours and the layout of every page, as CSS.
[[nodiscard]] std::string_view page_style();

}  // namespace hexaplan::report
