#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::presets {

/// Cells of a sweep over one or two axes.
inline constexpr std::size_t kMostSweptCells = 4096;

/// Appends one value, or those of a range that doubles: "4k..128k" is 4096, 8192 … 131072. `lengths`: the k
/// of numbers is 1024, as of sequences. InputError names `field`.
void append_swept_values(std::string_view text, std::string_view field, bool lengths,
                         std::vector<std::string>& values);

}  // namespace hexaplan::presets
