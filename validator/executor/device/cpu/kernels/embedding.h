#pragma once
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {

/// out[t] = table[ids[t] − first]; zeros where another rank has the row. out: tokens × h.
template <class T>
void embedding_lookup(const std::int32_t* ids, Input<T> table, std::int64_t first, Matrix<T> out);

/// dtable[ids[t] − first] += dout[t].
template <class T>
void embedding_backward(const std::int32_t* ids, Input<T> d_out, std::int64_t first, Matrix<T> d_table);

}  // namespace hexaplan::validator::kernels
