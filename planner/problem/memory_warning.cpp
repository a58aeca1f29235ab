#include "planner/problem/memory_warning.h"

#include <fmt/format.h>

#include <variant>

#include "costmodel/units/format_units.h"
#include "planner/problem/problem.h"

namespace hexaplan::planner {

using costmodel::format_binary;
using costmodel::format_percent;

std::string memory_warning(const costmodel::Estimate& e) {
  if (const auto* rejected = std::get_if<costmodel::Rejected>(&e.verdict);
      rejected != nullptr && rejected->rule != "fits-in-memory")
    return fmt::format("Does not fit: {}", rejected->reason);
  const bool fits = std::holds_alternative<costmodel::Fits>(e.verdict);
  if (fits && e.out_of_memory_probability <= kDefaultRisk) return {};
  return fmt::format("{}: stage {} needs {} of {}; chance of running out {}",
                     fits ? "Fits, at risk" : "Does not fit", e.peak_stage, format_binary(e.peak().needed),
                     format_binary(e.capacity), format_percent(e.out_of_memory_probability));
}

}  // namespace hexaplan::planner
