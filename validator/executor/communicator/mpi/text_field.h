#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace hexaplan::validator {

/// Text in a field of fixed size, cut to fit: what processes tell each other has no pointers. The rest of the
/// field is zero.
template <std::size_t N>
void put_text(std::array<char, N>& field, std::string_view text) {
  std::fill(std::copy_n(text.begin(), std::min(text.size(), N - 1), field.begin()), field.end(), '\0');
}

}  // namespace hexaplan::validator
