#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hexaplan::presets {

/// Bytes of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none: The Unicode
/// Standard, table 3-7 (no overlong forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] std::size_t utf8_length(std::string_view text);
/// Offset of the first byte that is not part of well-formed UTF-8, npos when all is.
[[nodiscard]] std::size_t first_not_utf8(std::string_view text);

/// The text with A to Z in lower case; other bytes stay.
[[nodiscard]] std::string lower(std::string_view text);

}  // namespace hexaplan::presets
