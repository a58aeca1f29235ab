#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace hexaplan::costmodel {

/// A value of an enumeration and a word for it: a row of the tables that readers, writers, options and help
/// share. A value with several words is written with its first.
template <class E>
struct Named {
  std::string_view name;
  E value;
};

/// Position of an enumerator in the table of its enum.
template <class Enum>
[[nodiscard]] constexpr std::size_t position(Enum value) {
  return static_cast<std::size_t>(value);
}
/// True when row i of `table` describes enumerator i and no enumerator is missing.
template <class Row, std::size_t N>
[[nodiscard]] constexpr bool lists_in_order(const std::array<Row, N>& table, std::size_t count) {
  for (std::size_t i = 0; i < N; ++i) {
    if (position(table[i].id) != i || table[i].name.empty()) return false;
  }
  return N == count;
}

}  // namespace hexaplan::costmodel
