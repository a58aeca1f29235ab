#pragma once
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace hexaplan::costmodel {

/// Removes the number that `text` begins with and returns it; nothing, and `text` as it was, when it begins
/// with none or with one that T cannot hold. A number is written as std::from_chars reads it, in every locale
/// alike: no blanks and no plus sign before it, a minus only for signed T; a floating T knows exponents,
/// "inf" and "nan".
template <class T>
[[nodiscard]] std::optional<T> take_number(std::string_view& text) {
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

/// The number that the whole of `text` is, written as for take_number; nothing when anything else stands in
/// it.
template <class T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text) {
  const std::optional<T> value = take_number<T>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace hexaplan::costmodel
