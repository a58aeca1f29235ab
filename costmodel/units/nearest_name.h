#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::costmodel {

/// Candidate that `word` most likely meant, or an empty view when none is close (more than a third of the
/// letters differ). Case, '-', '_' and blanks do not count; swapping two neighbours counts as one edit. First
/// of equals wins.
[[nodiscard]] std::string_view nearest_name(std::string_view word,
                                            std::span<const std::string_view> candidates);
[[nodiscard]] std::string_view nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace hexaplan::costmodel
