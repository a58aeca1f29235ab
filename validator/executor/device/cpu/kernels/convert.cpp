#include "validator/executor/device/cpu/kernels/convert.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

void widen(const Bf16* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

void narrow(const float* from, std::int64_t count, Bf16* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
}

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
