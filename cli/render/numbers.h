#pragma once
#include <fmt/format.h>

#include <string>

#include "costmodel/units/format_units.h"

namespace hexaplan::cli {

/// Digits alone, in GiB (2^30 bytes): for columns whose head says so.
[[nodiscard]] inline std::string gib_digits(costmodel::Bytes bytes) {
  return fmt::format("{:.2f}", bytes.value() / 1073741824.0);
}
using costmodel::format_signed_percent;

}  // namespace hexaplan::cli
