#pragma once
#include <string>
#include <variant>

#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// The layout can run and its peak lies below capacity by `headroom`.
struct Fits {
  Bytes headroom;
};
/// The layout cannot run, or does not fit. An answer, not an error.
struct Rejected {
  std::string rule;    // stable name, e.g. "heads-divide-by-tp"; counted in search reports
  std::string reason;  // one sentence with the numbers in it: "12 heads do not split over tp=8"
  std::string advice;  // what would pass: "tp=1, 2, 3, 4, 6 or 12 do"
};
using Verdict = std::variant<Fits, Rejected>;

}  // namespace hexaplan::costmodel
