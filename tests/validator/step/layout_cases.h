#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::tests {

/// A layout (and what else it changes) that the executor's proofs run.
struct LayoutCase {
  std::string name;
  costmodel::Layout layout;
  void (*change)(costmodel::Scenario&) = [](costmodel::Scenario&) {};
  [[nodiscard]] costmodel::Scenario scenario() const;
};
inline std::ostream& operator<<(std::ostream& out, const LayoutCase& c) {
  return out << c.name;
}
[[nodiscard]] const std::vector<LayoutCase>& layout_cases();

}  // namespace hexaplan::tests
