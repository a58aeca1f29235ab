#pragma once
#include <cstddef>

namespace hexaplan::presets {

/// Most characters of a number: "-1.7976931348623157e+308", and what makes a whole one a fraction.
inline constexpr std::size_t kLongestNumber = 26;

/// Writes a number as JSON at `at`, in the shortest form that reads back the same, whole ones with ".0";
/// null for what is not finite: JSON has no word for that (RFC 8259 §6), and null is what JavaScript and
/// pandas write. Returns the end. Precondition: room for kLongestNumber characters.
[[nodiscard]] char* write_number(double number, char* at);

}  // namespace hexaplan::presets
