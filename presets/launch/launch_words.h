#pragma once
#include <cstddef>
#include <string_view>

#include "costmodel/spec/scenario.h"
#include "presets/json/json_value.h"

namespace hexaplan::presets {

// What the tables of launch fields are written with.

/// A flag without value, left out when it is not set.
[[nodiscard]] inline JsonValue when(bool condition) {
  return condition ? JsonValue{true} : JsonValue{};
}
/// A setting that is left out elsewhere.
template <class T>
[[nodiscard]] JsonValue only_if(bool condition, const T& value) {
  return condition ? JsonValue{value} : JsonValue{};
}
/// What a framework calls a value.
template <class E>
struct FrameworkWord {
  E value;
  const char* word;
};
/// The word of the first row whose value it is; null when there is none.
template <class E, std::size_t N>
[[nodiscard]] JsonValue word_of(const FrameworkWord<E> (&table)[N], E value) {
  for (const FrameworkWord<E>& row : table) {
    if (row.value == value) return row.word;
  }
  return {};
}
/// No such setting.
inline constexpr std::string_view kNone;

/// Replicas of the sharded state.
[[nodiscard]] inline int state_replicas(const costmodel::Scenario& s) {
  return s.layout.dp * s.layout.cp / s.layout.shard_ranks();
}

}  // namespace hexaplan::presets
