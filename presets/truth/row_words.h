#pragma once
#include <span>
#include <string>
#include <string_view>

#include "presets/json/spec_names.h"
#include "presets/truth/scenario_of_row.h"

namespace hexaplan::presets {

/// The value that `word` of column `column` stands for; NoScenario when the table has none.
template <class E, std::size_t N>
[[nodiscard]] E value_of_word(const Named<E> (&table)[N], const std::string& word, std::string_view column) {
  if (const auto value = value_in(table, word)) return *value;
  throw NoScenario{std::string{column} + " is '" + word + "'"};
}

}  // namespace hexaplan::presets
