#pragma once
#include <cstdint>

#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/nf4.h"

namespace hexaplan::validator::kernels {

/// Device::quantise. T: float or double.
template <class T>
void quantise_blocks(int bits, Input<T> x, Matrix<std::uint8_t> codes, Matrix<T> scales);
/// Device::dequantise.
template <class T>
void dequantise_blocks(int bits, Matrix<const std::uint8_t> codes, Input<T> scales, Matrix<T> out,
                       bool accumulate);
/// Device::dequantise_nf4. The scales, or those of the scales, in T.
template <class T>
void dequantise_nf4(const Nf4Matrix& from, const T* scales, const T* scales_of_scales, T* out);

}  // namespace hexaplan::validator::kernels
