#pragma once
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {

/// out[i] = x[rows[i]]; zeros for a negative index.
template <class T>
void gather_rows(Input<T> x, const std::int32_t* rows, Matrix<T> out);
/// out[rows[i]] += factors[i]·x[i]; factors may be null: 1. Negative indices are left out.
template <class T>
void scatter_rows(Input<T> x, const std::int32_t* rows, const T* factors, Matrix<T> out);
/// dots[i] = Σ over columns of a[i]·b[i].
template <class T>
void row_dots(Input<T> a, Input<T> b, T* dots);
/// sums[c] += Σ over rows of x.
template <class T>
void column_sums(Input<T> x, T* sums);
/// Row i of x times factors[i].
template <class T>
void scale_rows(Matrix<T> x, const T* factors);
/// Column c of x times factors[c].
template <class T>
void scale_columns(Matrix<T> x, const T* factors);
/// sums[c] += Σ over rows of a·b.
template <class T>
void column_dots(Input<T> a, Input<T> b, T* sums);
/// out[i] = σ(gates[i])·x[i]; out may be x.
template <class T>
void gate_rows(const T* gates, Input<T> x, Matrix<T> out);
/// dx = σ(gates)·d_out, which may be d_out itself; d_gates[i] = σ'(gates[i])·Σ over columns of d_out·x.
template <class T>
void gate_rows_backward(Input<T> d_out, const T* gates, Input<T> x, Matrix<T> dx, T* d_gates);
/// out[i] = x[i / n], n = out.rows / x.rows.
template <class T>
void repeat_rows(Input<T> x, Matrix<T> out);
/// out[i] += Σ over rows [i·n, (i + 1)·n) of x, n = x.rows / out.rows.
template <class T>
void add_repeated_rows(Input<T> x, Matrix<T> out);

}  // namespace hexaplan::validator::kernels
