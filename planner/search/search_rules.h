#pragma once
#include <span>

#include "costmodel/spec/rules.h"

namespace hexaplan::planner {

/// The cost model's rules, and with them what a search leaves out because the framework would refuse to run
/// it, though it could be estimated.
[[nodiscard]] std::span<const costmodel::Rule> search_rules();

}  // namespace hexaplan::planner
