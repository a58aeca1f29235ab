#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/json/json_value.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

// What the tables of launch fields are written with.

[[nodiscard]] inline bool has_latent_attention(const costmodel::Scenario& s) {
  return s.model.attention.kind == costmodel::AttentionKind::Latent;
}
[[nodiscard]] inline bool is_rotary(const costmodel::Scenario& s) {
  return s.model.positions == costmodel::PositionKind::Rotary;
}
[[nodiscard]] inline bool scales_by_yarn(const costmodel::Scenario& s) {
  return is_rotary(s) && s.model.rotary.scaling == costmodel::RopeScaling::Yarn;
}

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
/// The value that a word stands for. InputError that lists the words.
template <class E, std::size_t N>
[[nodiscard]] E meaning_of(const FrameworkWord<E> (&table)[N], const ValueReader& value) {
  std::vector<std::string_view> words;
  for (const FrameworkWord<E>& row : table) words.emplace_back(row.word);
  return table[value.choice_index(words)].value;
}
/// No such setting.
inline constexpr std::string_view kNone;

inline constexpr IntegerRange kDegreeRange{1, 1'000'000};
/// Text, also where it looks like a number.
[[nodiscard]] inline std::string text_in(const ValueReader& value) {
  const auto* text = value.json().get_if<std::string>();
  return text != nullptr ? *text : to_text(value.json(), JsonStyle::Compact);
}
/// Replicas of the sharded state.
[[nodiscard]] inline int state_replicas(const costmodel::Scenario& s) {
  return s.layout.dp * s.layout.cp / s.layout.shard_ranks();
}

}  // namespace hexaplan::presets
