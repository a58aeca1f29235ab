#include "validator/executor/device/cpu/kernels/gemm.h"

#include <Eigen/Core>

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {
namespace {

template <class A, class B, class C>
void multiply(const A& a, const B& b, bool accumulate, C& c) {
  if (accumulate) {
    c.noalias() += a * b;
  } else {
    c.noalias() = a * b;
  }
}

}  // namespace

template <class T>
void gemm(Input<T> a, bool transpose_a, Input<T> b, bool transpose_b, bool accumulate, Matrix<T> c) {
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  if (c.rows == 0 || c.cols == 0) return;
  const Eigen::Map<const Dense, 0, Stride> left{a.data, a.rows, a.cols, Stride(a.stride)};
  const Eigen::Map<const Dense, 0, Stride> right{b.data, b.rows, b.cols, Stride(b.stride)};
  Eigen::Map<Dense, 0, Stride> out{c.data, c.rows, c.cols, Stride(c.stride)};
  if (transpose_a && transpose_b) {
    multiply(left.transpose(), right.transpose(), accumulate, out);
  } else if (transpose_a) {
    multiply(left.transpose(), right, accumulate, out);
  } else if (transpose_b) {
    multiply(left, right.transpose(), accumulate, out);
  } else {
    multiply(left, right, accumulate, out);
  }
}

template void gemm<double>(Input<double>, bool, Input<double>, bool, bool, Matrix<double>);
template void gemm<float>(Input<float>, bool, Input<float>, bool, bool, Matrix<float>);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
