#include "validator/executor/device/cpu/kernels/dropout.h"

#include <algorithm>

namespace hexaplan::validator::kernels {

template <class T>
void dropout(const DropoutForm& form, const std::int32_t* positions, Input<T> x, Matrix<T> out,
             Matrix<std::uint8_t> mask) {
  const std::int64_t width = form.width > 0 ? form.width : x.cols;
  const T factor = static_cast<T>(form.factor);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const std::int64_t row = form.first_row + r, sequence = row / form.sequence_rows;
    const std::int64_t position = positions != nullptr ? positions[r] : row % form.sequence_rows;
    for (std::int64_t c = 0; c < x.cols; ++c) {
      const bool keeps = form.keeps(sequence, position, c / width, c % width);
      mask.row(r)[c] = keeps ? 1 : 0;
      out.row(r)[c] = keeps ? x.row(r)[c] * factor : T{0};
    }
  }
}

template <class T>
void dropout_backward(const DropoutForm& form, Input<T> d, Matrix<const std::uint8_t> mask, Matrix<T> dx) {
  const T factor = static_cast<T>(form.factor);
  for (std::int64_t r = 0; r < d.rows; ++r) {
    std::transform(d.row(r), d.row(r) + d.cols, mask.row(r), dx.row(r),
                   [factor](T gradient, std::uint8_t kept) { return kept != 0 ? gradient * factor : T{0}; });
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define HEXAPLAN_INSTANTIATE(T)                                                          \
  template void dropout<T>(const DropoutForm&, const std::int32_t*, Input<T>, Matrix<T>, \
                           Matrix<std::uint8_t>);                                        \
  template void dropout_backward<T>(const DropoutForm&, Input<T>, Matrix<const std::uint8_t>, Matrix<T>)
// NOLINTEND(bugprone-macro-parentheses)
HEXAPLAN_INSTANTIATE(double);
HEXAPLAN_INSTANTIATE(float);
#undef HEXAPLAN_INSTANTIATE

}  // namespace hexaplan::validator::kernels
