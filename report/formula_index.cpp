#include "report/formula_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace hexaplan::report {
namespace {

/// docs/formulas.md, section by section.
constexpr std::string_view kSections[] = {
#include "formulas_page.inc"
};

std::string_view formulas_page() {
  static const std::string page = [] {
    std::string text;
    for (const std::string_view section : kSections) text += section;
    return text;
  }();
  return page;
}

constexpr std::string_view kFunction = "Function:";
constexpr std::string_view kSource = "Source:";
constexpr std::string_view kTest = "Test:";
constexpr std::string_view kChecked = "*Checked*";

std::string_view up_to(std::string_view text, std::string_view end) {
  return text.substr(0, text.find(end));
}

/// The paragraph of `section` that follows `label`, its lines joined.
std::string paragraph(std::string_view section, std::string_view label) {
  const std::size_t begin = section.find(label);
  if (begin == std::string_view::npos) return {};
  std::string_view text = up_to(section.substr(begin + label.size()), "\n\n");
  for (const std::string_view end : {kFunction, kSource, kTest, kChecked}) text = up_to(text, end);
  std::string joined{text};
  std::replace(joined.begin(), joined.end(), '\n', ' ');
  joined.erase(std::remove(joined.begin(), joined.end(), '`'), joined.end());
  joined.erase(joined.find_last_not_of(" .") + 1);
  return joined.substr(std::min(joined.find_first_not_of(' '), joined.size()));
}

/// What stands between the heading of the chapter that position `at` lies in and its first anchor.
std::string_view chapter_introduction(std::size_t at) {
  const std::size_t begin = formulas_page().rfind("\n## ", at);
  return begin == std::string_view::npos ? std::string_view{}
                                         : up_to(formulas_page().substr(begin), "\n### ");
}

}  // namespace

FormulaNote find_formula(std::string_view anchor) {
  const std::string mark = fmt::format("<a id=\"{0}\"></a>{0} · ", anchor);
  const std::size_t begin = anchor.empty() ? std::string_view::npos : formulas_page().find(mark);
  if (begin == std::string_view::npos) return {};
  const std::string_view section =
      up_to(up_to(formulas_page().substr(begin + mark.size()), "\n### "), "\n---");
  FormulaNote note{.title = std::string{up_to(section, "\n")},
                   .function = paragraph(section, kFunction),
                   .source = paragraph(section, kSource)};
  if (note.function.empty()) note.function = paragraph(chapter_introduction(begin), kFunction);
  return note;
}

}  // namespace hexaplan::report
