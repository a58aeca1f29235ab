#include "cli/formula_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace hexaplan::cli {
namespace {

constexpr std::string_view kFormulasPage =
#include "formulas_page.inc"
    ;

/// The paragraph of `section` that begins with `label`, its lines joined, without the label.
std::string paragraph(std::string_view section, std::string_view label) {
  const std::size_t begin = section.find(fmt::format("\n{}", label));
  if (begin == std::string_view::npos) return {};
  std::string_view text = section.substr(begin + 1 + label.size());
  text = text.substr(
      0, std::min({text.find("\n\n"), text.find("\nFunction:"), text.find("\nSource:"), text.size()}));
  std::string joined{text.substr(std::min(text.find_first_not_of(" \n"), text.size()))};
  for (char& c : joined) {
    if (c == '\n') c = ' ';
  }
  joined.erase(std::remove(joined.begin(), joined.end(), '`'), joined.end());
  return joined;
}

}  // namespace

FormulaNote find_formula(std::string_view anchor) {
  const std::string mark = fmt::format("<a id=\"{0}\"></a>{0} · ", anchor);
  const std::size_t begin = anchor.empty() ? std::string_view::npos : kFormulasPage.find(mark);
  if (begin == std::string_view::npos) return {};
  std::string_view section = kFormulasPage.substr(begin + mark.size());
  section = section.substr(0, std::min(section.find("\n### "), section.find("\n---")));
  return {.title = std::string{section.substr(0, section.find('\n'))},
          .function = paragraph(section, "Function:"),
          .source = paragraph(section, "Source:")};
}

}  // namespace hexaplan::cli
