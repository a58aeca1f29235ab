#pragma once
#include <fmt/format.h>

#include <string>

#include "costmodel/units/format_units.h"

namespace hexaplan::cli {

/// Digits alone, in GiB (2^30 bytes): for columns whose head says so.
[[nodiscard]] inline std::string gib_digits(costmodel::Bytes bytes) {
  return fmt::format("{:.2f}", bytes.value() / 1073741824.0);
}
/// "+12.3 %", "-0.4 %".
[[nodiscard]] inline std::string format_signed_percent(double share) {
  return fmt::format("{:+.1f} %", share * 100);
}

}  // namespace hexaplan::cli
