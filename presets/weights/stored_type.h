#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::presets {

/// Types of elements in safetensors files that weights come in.
enum class StoredType : std::uint8_t { F64, F32, F16, Bf16 };

/// IEEE 754 interchange formats, and bfloat16 as the upper half of binary32.
struct StoredTypeRow {
  StoredType type;
  std::string_view name;  // as the file says it
  int bytes;
  int fraction_bits;  // without the leading one
  int exponent_bits;
};
[[nodiscard]] const StoredTypeRow& row_of(StoredType type);
/// By its name in any case; nothing for others.
[[nodiscard]] std::optional<StoredType> stored_type_named(std::string_view name);
[[nodiscard]] std::vector<std::string> stored_type_names();

/// One element at `bytes`, little-endian, as a number.
[[nodiscard]] double load_element(StoredType type, const std::byte* bytes);
/// `value` rounded to the nearest element, ties to even; beyond the largest: infinity.
void store_element(StoredType type, double value, std::byte* bytes);

}  // namespace hexaplan::presets
