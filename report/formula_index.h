#pragma once
#include <string>
#include <string_view>

namespace hexaplan::report {

/// What docs/formulas.md says about one anchor; empty strings where it says nothing.
struct FormulaNote {
  std::string title, function, source;
};
/// The page is built into the program.
[[nodiscard]] FormulaNote find_formula(std::string_view anchor);

}  // namespace hexaplan::report
