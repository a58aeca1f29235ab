#pragma once

namespace hexaplan::costmodel {

/// The bit of an enumerator, or of a small number, in a set that has one for each.
template <class Value>
[[nodiscard]] constexpr unsigned bit_of(Value value) {
  return 1U << static_cast<unsigned>(value);
}
template <class Value>
[[nodiscard]] constexpr bool has_bit(unsigned bits, Value value) {
  return (bits & bit_of(value)) != 0;
}

}  // namespace hexaplan::costmodel
