#include "validator/executor/device/cpu/kernels/embedding.h"

#include <algorithm>
#include <cstdint>

namespace hexaplan::validator::kernels {

template <class T>
void embedding_lookup(const std::int32_t* ids, Input<T> table, std::int64_t first, Matrix<T> out) {
  for (std::int64_t t = 0; t < out.rows; ++t) {
    const std::int64_t row = ids[t] - first;
    if (row >= 0 && row < table.rows) {
      std::copy_n(table.row(row), out.cols, out.row(t));
    } else {
      std::fill_n(out.row(t), out.cols, T{0});
    }
  }
}

template <class T>
void embedding_backward(const std::int32_t* ids, Input<T> d_out, std::int64_t first, Matrix<T> d_table) {
  for (std::int64_t t = 0; t < d_out.rows; ++t) {
    const std::int64_t row = ids[t] - first;
    if (row < 0 || row >= d_table.rows) continue;
    for (std::int64_t c = 0; c < d_out.cols; ++c) d_table.row(row)[c] += d_out.row(t)[c];
  }
}

template void embedding_lookup<double>(const std::int32_t*, Input<double>, std::int64_t, Matrix<double>);
template void embedding_lookup<float>(const std::int32_t*, Input<float>, std::int64_t, Matrix<float>);
template void embedding_lookup<std::uint16_t>(const std::int32_t*, Input<std::uint16_t>, std::int64_t,
                                              Matrix<std::uint16_t>);
template void embedding_backward<double>(const std::int32_t*, Input<double>, std::int64_t, Matrix<double>);
template void embedding_backward<float>(const std::int32_t*, Input<float>, std::int64_t, Matrix<float>);

}  // namespace hexaplan::validator::kernels
