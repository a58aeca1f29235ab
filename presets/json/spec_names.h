#pragma once
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/attention_library.h"
#include "costmodel/spec/dtype.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

using costmodel::kDTypeNames;
using costmodel::kPrecisionNames;

inline constexpr Named<costmodel::AttentionLibrary> kLibraryNames[] = {
    {"vendor", costmodel::AttentionLibrary::Vendor},
    {"flash-attention-2", costmodel::AttentionLibrary::FlashAttention2},
    {"flash-attention-1", costmodel::AttentionLibrary::FlashAttention1},
};

/// Name of `value` in a table; empty when it has none.
template <class E, std::size_t N>
[[nodiscard]] constexpr std::string_view name_in(const Named<E> (&table)[N], E value) {
  for (const Named<E>& row : table) {
    if (row.value == value) {
      return row.name;
    }
  }
  return {};
}

/// The first name of each value of a table, in its order.
template <class E, std::size_t N>
[[nodiscard]] std::vector<std::string> names_in(const Named<E> (&table)[N]) {
  std::vector<std::string> names;
  for (const Named<E>& row : table) {
    if (name_in(table, row.value) == row.name) names.emplace_back(row.name);
  }
  return names;
}
/// … as a function without arguments, for tables of fields.
template <const auto& table>
[[nodiscard]] std::vector<std::string> names_of() {
  return names_in(table);
}

/// Value that `name` stands for in a table; nothing when it has no such row.
template <class E, std::size_t N>
[[nodiscard]] constexpr std::optional<E> value_in(const Named<E> (&table)[N], std::string_view name) {
  for (const Named<E>& row : table) {
    if (row.name == name) {
      return row.value;
    }
  }
  return std::nullopt;
}

}  // namespace hexaplan::presets
