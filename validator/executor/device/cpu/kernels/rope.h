#pragma once
#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/rotation.h"

namespace hexaplan::validator::kernels {

/// Rotates every head of x in place by its token's position: the pairs of columns that `rotation` names are
/// turned by position·frequency  [arXiv:2104.09864 eq. 34]. `direction` is 1 in the forward pass and −1 for
/// gradients, whose rotation is the inverse. x: tokens × heads·d; positions: tokens.
template <class T>
void rope(Matrix<T> x, const std::int32_t* positions, const Rotation& rotation, int direction);

}  // namespace hexaplan::validator::kernels
