#pragma once
#include <cstdint>

#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/dropout.h"

namespace hexaplan::validator::kernels {

/// out = x·factor where the form keeps a number, else 0; mask: 1 or 0. out may be x. positions: one per row,
/// or nullptr.
template <class T>
void dropout(const DropoutForm& form, const std::int32_t* positions, Input<T> x, Matrix<T> out,
             Matrix<std::uint8_t> mask);
/// dx = d·factor·mask; dx may be d.
template <class T>
void dropout_backward(const DropoutForm& form, Input<T> d, Matrix<const std::uint8_t> mask, Matrix<T> dx);

}  // namespace hexaplan::validator::kernels
