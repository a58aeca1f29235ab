#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace hexaplan::validator {

/// What the device stores per element. Nobody computes in Bf16 and F16, which are widened to F32 and rounded.
/// E4m3 (e4m3.h) is for operands of matrix products alone: it can be copied, filled with noise and
/// multiplied. U8 are codes of a table (dynamic_map.h): they can be filled, copied and read by the host.
enum class Element : std::uint8_t { F64, F32, Bf16, I32, E4m3, F16, U8 };

[[nodiscard]] constexpr std::size_t bytes_of(Element element) {
  switch (element) {
    case Element::F64:
      return 8;
    case Element::F32:
    case Element::I32:
      return 4;
    case Element::Bf16:
    case Element::F16:
      return 2;
    case Element::E4m3:
    case Element::U8:
      return 1;
  }
  return 0;
}

/// A row-major matrix in device memory that somebody else owns. `stride` elements lie between rows, so that a
/// range of columns is a view as well. A vector is a matrix of one row or one column.
struct View {
  std::byte* data = nullptr;
  Element element = Element::F32;
  std::int64_t rows = 0, cols = 0, stride = 0;

  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
  [[nodiscard]] bool contiguous() const { return stride == cols || rows <= 1; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(elements()) * bytes_of(element); }
  [[nodiscard]] View row_range(std::int64_t first, std::int64_t count) const {
    assert(first >= 0 && first + count <= rows);
    return {at(first * stride), element, count, cols, stride};
  }
  [[nodiscard]] View column_range(std::int64_t first, std::int64_t count) const {
    assert(first >= 0 && first + count <= cols);
    return {at(first), element, rows, count, stride};
  }
  /// The same elements as another matrix. Precondition: contiguous, same number of elements.
  [[nodiscard]] View reshaped(std::int64_t new_rows, std::int64_t new_cols) const {
    assert(contiguous() && new_rows * new_cols == elements());
    return {data, element, new_rows, new_cols, new_cols};
  }
  /// Elements [first, first + count) of a contiguous view as one row.
  [[nodiscard]] View slice(std::int64_t first, std::int64_t count) const {
    assert(contiguous() && first >= 0 && first + count <= elements());
    return {at(first), element, 1, count, count};
  }
  /// Host code's pointer; only for devices whose memory the host reads.
  template <class T>
  [[nodiscard]] T* as() const {
    assert(sizeof(T) == bytes_of(element));
    return reinterpret_cast<T*>(data);  // NOLINT(*-reinterpret-cast): memory is untyped at this seam
  }

 private:
  [[nodiscard]] std::byte* at(std::int64_t index) const {
    return data + static_cast<std::size_t>(index) * bytes_of(element);
  }
};

}  // namespace hexaplan::validator
