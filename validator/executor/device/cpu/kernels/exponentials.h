#pragma once
#include <Eigen/Core>
#include <limits>

#include "validator/executor/device/cpu/kernels/kernel_set.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// to = exp(scores − by), of Eigen's arrays of one row, which may be the same. Eigen's vector exp makes a
/// denormal number of −∞, of which an update by signs would make a step: what is hidden is exactly nothing.
/// A pass of its own, which the compiler makes vector code of; Eigen's select is none.
template <class Scores, class To>
void exponentials_of(const Scores& scores, typename To::Scalar by, To& to) {
  using T = typename To::Scalar;
  to = (scores - by).exp();
  T* const values = to.data();
  for (Eigen::Index i = 0; i < to.size(); ++i)
    values[i] = values[i] < std::numeric_limits<T>::min() ? T{0} : values[i];
}

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
