#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::presets {

/// Whole-number arithmetic as in $(( )): + - * / % and brackets; nothing when it is something else.
[[nodiscard]] std::optional<std::int64_t> shell_arithmetic(std::string_view expression);

/// Shell patterns with '*' and '?'.
[[nodiscard]] bool matches_pattern(std::string_view text, std::string_view pattern);

/// The words of a condition between [ ] or [[ ]], expanded. What depends on files holds.
[[nodiscard]] bool shell_condition(const std::vector<std::string>& words);

}  // namespace hexaplan::presets
