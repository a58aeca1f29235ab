#pragma once
#include "validator/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {

/// Rotates every head of x in place by its token's position: dimension i is paired with i + d/2 and turned by
/// position·θ^(−2i/d)  [arXiv:2104.09864 eq. 34; pairing of Hugging Face's Llama]. `direction` is 1 in the
/// forward pass and −1 for gradients, whose rotation is the inverse. x: tokens × heads·d; positions: tokens.
template <class T>
void rope(Matrix<T> x, const std::int32_t* positions, std::int64_t head_dim, double theta, int direction);

}  // namespace hexaplan::validator::kernels
