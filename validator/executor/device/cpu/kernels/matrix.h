#pragma once
#include <cassert>
#include <cstdint>
#include <type_traits>

namespace hexaplan::validator::kernels {

/// A typed row-major matrix that somebody else owns; `stride` elements lie between rows.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0, stride = 0;

  [[nodiscard]] T* row(std::int64_t r) const {
    assert(r >= 0 && r < rows);
    return data + r * stride;
  }
  [[nodiscard]] Matrix block(std::int64_t first_row, std::int64_t row_count, std::int64_t first_col,
                             std::int64_t col_count) const {
    assert(first_row + row_count <= rows && first_col + col_count <= cols);
    return {data + first_row * stride + first_col, row_count, col_count, stride};
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a matrix can always be read
  operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols, stride}; }
};

/// In parameters: lets T follow from the outputs, so that a Matrix<T> may stand where a Matrix<const T> is
/// asked for.
template <class T>
using Input = std::type_identity_t<Matrix<const T>>;

}  // namespace hexaplan::validator::kernels
