#pragma once
#include <cstdint>

#include "validator/executor/device/bf16.h"
#include "validator/executor/device/cpu/kernels/kernel_set.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// to[i] = from[i].
void widen(const Bf16* from, std::int64_t count, float* to);
/// to[i] = from[i] rounded to nearest, ties to even; not-a-numbers stay so.
void narrow(const float* from, std::int64_t count, Bf16* to);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
