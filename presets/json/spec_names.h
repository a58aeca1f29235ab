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

inline constexpr Named<costmodel::DType> kDTypeNames[] = {
    {"fp64", costmodel::DType::Fp64},   {"fp32", costmodel::DType::Fp32},   {"bf16", costmodel::DType::Bf16},
    {"fp16", costmodel::DType::Fp16},   {"fp8", costmodel::DType::Fp8},     {"fp4", costmodel::DType::Fp4},
    {"int64", costmodel::DType::Int64}, {"int32", costmodel::DType::Int32}, {"int8", costmodel::DType::Int8},
    {"nf4", costmodel::DType::Nf4},     {"bool", costmodel::DType::Bool}};

inline constexpr Named<costmodel::Precision> kPrecisionNames[] = {
    {"fp32", costmodel::Precision::Fp32},   {"tf32", costmodel::Precision::Tf32},
    {"fp16", costmodel::Precision::Fp16},   {"bf16", costmodel::Precision::Bf16},
    {"fp8", costmodel::Precision::Fp8},     {"fp8-block", costmodel::Precision::Fp8Block},
    {"mxfp8", costmodel::Precision::Mxfp8}, {"nvfp4", costmodel::Precision::Nvfp4}};
static_assert(std::size(kPrecisionNames) == costmodel::kPrecisionCount);

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
