#pragma once
#include "validator/executor/device/device.h"

namespace hexaplan::tests {

/// Expects that `device` multiplies e4m3 as float64 does the rounded operands, fills e4m3 with the noise of
/// every other element, rounded, and refuses what it cannot multiply by UnsupportedProduct. Precondition:
/// narrow_gemms() has Fp8.
void expect_e4m3_like_float64(validator::Device& device);

}  // namespace hexaplan::tests
