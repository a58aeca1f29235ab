#pragma once
#include <cstdint>
#include <span>
#include <type_traits>

#include "costmodel/spec/dtype.h"

namespace hexaplan::validator {

enum class Reduction : std::uint8_t { Sum, Max };

/// Type in which a C++ number lies in memory.
template <class T>
[[nodiscard]] constexpr costmodel::DType dtype_of();
template <>
[[nodiscard]] constexpr costmodel::DType dtype_of<double>() {
  return costmodel::DType::Fp64;
}
template <>
[[nodiscard]] constexpr costmodel::DType dtype_of<float>() {
  return costmodel::DType::Fp32;
}
template <>
[[nodiscard]] constexpr costmodel::DType dtype_of<std::int32_t>() {
  return costmodel::DType::Int32;
}

/// Contiguous elements in the memory of the rank's device, to read. Does not own them.
struct ConstBuffer {
  const void* data = nullptr;
  std::int64_t elements = 0;
  costmodel::DType type = costmodel::DType::Fp64;

  ConstBuffer() = default;
  ConstBuffer(const void* at, std::int64_t count, costmodel::DType stored)
      : data{at}, elements{count}, type{stored} {}
  template <class T>
  ConstBuffer(std::span<T> values)  // NOLINT(google-explicit-constructor): a view is a view
      : ConstBuffer{values.data(), static_cast<std::int64_t>(values.size()),
                    dtype_of<std::remove_const_t<T>>()} {}
  [[nodiscard]] std::int64_t bytes() const { return elements * costmodel::bits_per_element(type) / 8; }
};

/// The same, to write.
struct Buffer {
  void* data = nullptr;
  std::int64_t elements = 0;
  costmodel::DType type = costmodel::DType::Fp64;

  Buffer() = default;
  Buffer(void* at, std::int64_t count, costmodel::DType stored) : data{at}, elements{count}, type{stored} {}
  template <class T>
  Buffer(std::span<T> values)  // NOLINT(google-explicit-constructor): a view is a view
      : Buffer{values.data(), static_cast<std::int64_t>(values.size()), dtype_of<T>()} {}
  operator ConstBuffer() const { return {data, elements, type}; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] std::int64_t bytes() const { return elements * costmodel::bits_per_element(type) / 8; }
};

}  // namespace hexaplan::validator
