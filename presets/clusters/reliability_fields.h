#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "costmodel/spec/reliability.h"
#include "presets/json/field_text.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// One key of a cluster's reliability: in cluster files, in recipes and on the command line.
struct ReliabilityField {
  std::string_view key;
  std::string_view flag;
  FieldText text;
  /// Numbers with units are text: "50000 h", "2 TB/s".
  void (*read)(const ValueReader& value, costmodel::Reliability& reliability);
  /// Null when unset; what it writes reads back to the last bit.
  JsonValue (*write)(const costmodel::Reliability& reliability);
};
inline constexpr std::size_t kReliabilityFields = 8;
[[nodiscard]] std::span<const ReliabilityField, kReliabilityFields> reliability_fields();

/// "8h", "90s": in the largest unit of which it is a whole number, else in seconds to the last bit.
[[nodiscard]] std::string exact_text(costmodel::Seconds time);
/// A time above 0 of at most `most`, "50000 h".
[[nodiscard]] costmodel::Seconds positive_time(const ValueReader& value, costmodel::Seconds most);

}  // namespace hexaplan::presets
